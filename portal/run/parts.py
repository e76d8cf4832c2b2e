"""The parts of a running portal: what is started, as whom, with which environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from portal.run import people
from portal.run.layout import USER, CannotRun, Layout
from portal.run.ports import HOST, Ports

PYTHON = str(
    Path(sys.prefix).resolve() / "bin" / "python"
)  # not by the link in the clone, which may be closed
MARK = "FREEHOLD_SUPERVISED"  # names the data folder in the environment of everything that we start
PASSED_ON = ("PATH", "TZ", "LOG_LEVEL", "PIP_CERT", "SSL_CERT_FILE", "KUBEBUILDER_ASSETS")
FOR_BUILDS = ("GOPROXY", "GOSUMDB", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
KEPT = frozenset({*PASSED_ON, *FOR_BUILDS})
POSTGRES = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "120",
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
    "log_checkpoints": "off",
    "log_line_prefix": "",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One supervised process."""

    name: str
    command: tuple[str, ...]
    group: str  # "portal" stops first, then "redis", then "postgres"
    as_root: bool = False
    stop_signal: str = "TERM"
    stop_seconds: int = 10
    once: bool = False  # ends by itself, and is not started again when it does


def stores(layout: Layout) -> list[Part]:
    """What must answer before the rest is prepared."""
    postgres = [str(postgres_tools(layout) / "postgres"), "-D", str(layout.postgres)]
    postgres += ["-k", str(layout.postgres_sockets)]
    for name, value in POSTGRES.items():
        postgres += ["-c", f"{name}={value}"]
    redis = ["/usr/bin/redis-server", "--port", "0", "--unixsocket", str(layout.redis_socket)]
    redis += ["--unixsocketperm", "700", "--dir", str(layout.redis), "--loglevel", "warning"]
    redis += ["--save", "", "--appendonly", "no"]  # what is in Redis are hints; the truth is in PostgreSQL
    return [
        # INT is the fast shutdown: sessions are ended, data is written
        Part("postgres", tuple(postgres), "postgres", stop_signal="INT", stop_seconds=30),
        Part("redis", tuple(redis), "redis"),
    ]


def portal(layout: Layout, ports: Ports) -> list[Part]:
    """Everything that is ours, and the demo's provider."""
    python, manage = (PYTHON,), (PYTHON, "manage.py")
    web: tuple[str, ...] = (
        "-m",
        "uvicorn",
        "portal.asgi:application",
        "--host",
        HOST,
        "--port",
        str(ports.web),
    )
    web += ("--no-access-log", "--no-proxy-headers", "--lifespan", "off", "--ws-max-size", "65536")
    web += ("--timeout-graceful-shutdown", "3")
    celery = (*python, "-m", "celery", "--quiet", "-A", "portal")
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO")
    worker = (*celery, "worker", *quiet, "--concurrency", "2")
    beat = (*celery, "beat", "--schedule", str(layout.state / "beat"), "--pidfile=", "--loglevel", "WARNING")
    return [
        Part("oidc", (*python, "-m", "portal.run.demo_oidc", str(ports.oidc)), "portal"),
        Part("web", python + web, "portal"),
        Part("worker", (*worker, "--queues", "default", "--hostname", "worker@freehold"), "portal"),
        Part("beat", beat, "portal"),
        # the only two that are root: one starts daemons and accounts, one becomes the job's user to read
        Part("local", (*worker, "--queues", "local", "--hostname", "local@freehold"), "portal", as_root=True),
        Part("observer", (*manage, "observe"), "portal"),
        Part("outputs", (*manage, "read_outputs", str(layout.output_socket)), "portal", as_root=True),
        Part("kube", _kube(layout), "portal", as_root=True, once=True),
    ]


def _kube(layout: Layout) -> tuple[str, ...]:
    """What local control planes run; a first build takes minutes, in which nothing else waits for it."""
    # a session of its own: within ours it would share the processor with the pages
    own = ("ionice", "-c", "3", "setsid", "--wait", "env", "-C", str(layout.clone))
    return (*own, "/usr/bin/python3", "-m", "setup.kube", str(layout.clone), str(layout.kube))


def environment(layout: Layout, ports: Ports) -> dict[str, str]:
    """All variables of the parts: settings of the demo, and of the caller only what is meant for us."""
    web, issuer = f"http://{HOST}:{ports.web}", f"http://{HOST}:{ports.oidc}"
    kept = {name: value for name, value in os.environ.items() if name in KEPT or _is_ours(name)}
    return {
        **kept,
        MARK: str(layout.data),
        "LANG": "C.UTF-8",
        "HOME": "/nonexistent",
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "FREEHOLD_MODE": "demo",
        "FREEHOLD_DATA": str(layout.data),
        "FREEHOLD_OUTPUT_SOCKET": str(layout.output_socket),
        "FREEHOLD_FERNET_KEYS_FILE": str(layout.keys / "fernet"),
        "SECRET_KEY_FILE": str(layout.keys / "secret"),
        "STATIC_ROOT": str(layout.static),
        "DATABASE_URL": f"postgresql://{USER}@/{USER}?host={layout.postgres_sockets}",
        "REDIS_URL": f"unix://{layout.redis_socket}",
        "PUBLIC_URL": web,
        "TERMS_URL": f"{web}/demo/terms/",
        "ALLOWED_HOSTS": f"{HOST},localhost",
        "CSRF_TRUSTED_ORIGINS": f"{web},http://localhost:{ports.web}",
        "OIDC_ISSUER": issuer,
        "OIDC_CLIENT_ID": "freehold-demo",
        "OIDC_CLIENT_SECRET_FILE": str(layout.keys / "oidc-client"),
        "OIDC_TRUSTED_ISSUERS": issuer,
        "OPERATORS": ",".join(f"{issuer}|{person.subject}" for person in people.OPERATORS),
        "AUTHLIB_INSECURE_TRANSPORT": "1",  # the demo's provider speaks HTTP, on loopback
    }


def extra_environment(part: Part) -> Mapping[str, str]:
    """Variables of one part alone."""
    extra = {"FREEHOLD_PART": part.name}
    if part.name == "local":
        # it must be root, and its messages are JSON with ids only
        extra["PYTHONWARNINGS"] = "ignore:You're running the worker with superuser"
    return extra


def postgres_tools(layout: Layout) -> Path:
    """The folder of PostgreSQL's programs: of the version that wrote the data, else the newest."""
    base = Path("/usr/lib/postgresql")
    version = layout.postgres / "PG_VERSION"
    if version.exists():
        wanted = version.read_text(encoding="ascii").strip()
        if not (base / wanted / "bin" / "postgres").exists():
            raise CannotRun(f"The data were written by PostgreSQL {wanted}. Install postgresql-{wanted}.")
        return base / wanted / "bin"
    found = sorted(base.glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    if not found:
        raise CannotRun("PostgreSQL is missing. Start with `make run`: it installs it.")
    return found[-1].parent


def _is_ours(name: str) -> bool:
    return name.startswith("FREEHOLD_") and name not in {MARK, "FREEHOLD_PART"}
