"""What a site says about Slurm in its clusters: the section "slinky" of its settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from clusters.drivers.slurm_probe import site
from clusters.kube.site_settings import NAME, Section, bad

SECTION: Final = "slinky"
DIRECT, GITOPS = "direct", "gitops"
FILES, SSSD = "files", "sssd"
SERVICES = ("LoadBalancer", "NodePort", "ClusterIP")
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
USER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
SSH_KEY = re.compile(r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp256) [A-Za-z0-9+/=]+( [ -~]*)?")
CLASS = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
REPO = re.compile(r"(oci|https)://[a-z0-9][a-z0-9.-]*(:\d{1,5})?(/[A-Za-z0-9._-]+)*")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}")
REGISTRY = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d{1,5})?(/[a-z0-9._-]+)+")
IMAGE = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d{1,5})?(/[a-z0-9._-]+)+:[A-Za-z0-9._-]{1,127}")
ANY = re.compile(r".*", re.DOTALL)
QUANTITY = re.compile(r"[1-9]\d{0,8}(Mi|Gi|Ti)")
IS_NO_SIZE = "is no size such as 10Gi"
IS_NO_REPO = "is no address of a chart repository"
IS_NO_VERSION = "is no version of a chart"


@dataclass(frozen=True, slots=True)
class Charts:
    """Where charts come from; each is pinned, since an upgrade is a change that an operator makes."""

    repo: str = "oci://ghcr.io/slinkyproject/charts"
    version: str = "1.2.1"
    cert_manager_repo: str = "oci://quay.io/jetstack/charts"
    cert_manager: str = "v1.19.4"  # "": the site has it in its clusters already


@dataclass(frozen=True, slots=True)
class Images:
    """Container images of Slurm. With identity by files they need libnss-extrausers, which SchedMD's lack."""

    registry: str = "ghcr.io/slinkyproject"
    tag: str = "26.05-ubuntu26.04"
    helper: str = "docker.io/library/alpine:3.21"
    pull_secrets: tuple[str, ...] = ()

    def of(self, name: str) -> str:
        """slurmctld, slurmd, slurmdbd, slurmrestd or login."""
        return f"{self.registry}/{name}:{self.tag}"


@dataclass(frozen=True, slots=True)
class Home:
    """One volume for all nodes of a cluster; its class must give ReadWriteMany."""

    storage_class: str
    size: str = "1Ti"
    binds_late: bool = False  # the class waits for a first pod (WaitForFirstConsumer)


@dataclass(frozen=True, slots=True)
class Database:
    """A MariaDB for slurmdbd; each cluster has a database of its own in it."""

    host: str
    port: int = 3306
    user: str = "slurm"


@dataclass(frozen=True, slots=True)
class Login:
    """Pods for people's shells; none with 0 replicas."""

    replicas: int = 1
    service: str = "LoadBalancer"
    root_keys: tuple[str, ...] = ()  # break-glass keys of the operator; members come by the identity


@dataclass(frozen=True, slots=True)
class SlinkySettings:
    """Validated."""

    install: str = GITOPS
    charts: Charts = field(default_factory=Charts)
    images: Images = field(default_factory=Images)
    home: Home | None = None
    database: Database | None = None
    login: Login = field(default_factory=Login)
    identity: str = FILES
    vnode: bool = False
    detect: str = "nvidia"  # AutoDetect of gres.conf; "nvml" sees MIG slices and needs NVML in the image
    state_class: str = ""  # storage class of slurmctld's state; "": the cluster's default
    state_size: str = "4Gi"
    rest_url: str = ""  # "": through the cluster's API server
    rest_ca: str = field(default="", repr=False)  # PEM, for rest_url; "": rest_ca_file, or the system's
    rest_ca_file: str = ""
    rest_replicas: int = 1
    spare_cpus: int = 2  # of each node, for what is not Slurm
    spare_mib: int = 8192
    user_top: bool = False  # members may put a waiting job of theirs first: a setting of the site itself

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> SlinkySettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = Section({SECTION: {}, **settings}, SECTION, KNOWN)
        default = cls()
        return cls(
            install=section.choice("install", (DIRECT, GITOPS), GITOPS),
            charts=_charts(section),
            images=_images(section),
            home=_home(section),
            database=_database(section),
            login=_login(section),
            identity=section.choice("identity", (FILES, SSSD), FILES),
            vnode=section.flag("vnode", default=False),
            detect=section.choice("detect", ("nvidia", "nvml", "off"), default.detect),
            state_class=section.text("state_class", CLASS, "is no name of a storage class", ""),
            state_size=section.text("state_size", QUANTITY, IS_NO_SIZE, default.state_size),
            rest_url=section.address("rest_url", default=""),
            rest_ca=section.text("rest_ca", ANY, "is no text", ""),
            rest_ca_file=section.text("rest_ca_file", ANY, "is no text", ""),
            rest_replicas=section.number("rest_replicas", default.rest_replicas, least=1, most=10),
            spare_cpus=section.number("spare_cpus", default.spare_cpus, least=0, most=64),
            spare_mib=section.number("spare_mib", default.spare_mib, least=0, most=262_144),
            user_top=site.may_top(settings),
        )

    def remarks(self) -> tuple[str, ...]:
        """What people should know before they order Slurm here: reasons of clusters.reasons."""
        return () if self.home is not None else ("HomeNotShared",)


KNOWN = frozenset(
    {
        *("install", "charts", "images", "home", "database", "login", "identity", "vnode", "detect"),
        *("state_class", "state_size", "rest_url", "rest_ca", "rest_ca_file", "rest_replicas"),
        *("spare_cpus", "spare_mib"),
    }
)


def rest_authorities(settings: Mapping[str, Any]) -> bytes:
    """The CA of slurmrestds at `rest_url`: slinky.rest_ca, or the file that slinky.rest_ca_file names.

    Read when it is needed, by the process that needs it. Raises PermanentError BadSiteSettings.
    """
    section = settings.get(SECTION)
    if not isinstance(section, Mapping) or not section.get("rest_url"):
        return b""
    return read_authority(str(section.get("rest_ca", "")), str(section.get("rest_ca_file", "")))


def read_authority(text: str, file: str) -> bytes:
    """In PEM; empty where neither is given. Raises PermanentError BadSiteSettings."""
    if not text and not file:
        return b""
    if text.startswith("-----BEGIN CERTIFICATE-----") and text.isascii():
        return text.encode("ascii")
    if file.startswith("/"):
        try:
            return Path(file).read_bytes()
        except OSError as error:
            raise bad(f"{SECTION}.rest_ca_file", "cannot be read") from error
    raise bad(f"{SECTION}.rest_ca", "is no CA certificate in PEM; or give rest_ca_file")


def _inner(section: Section, key: str, known: Iterable[str]) -> Section | None:
    """A section inside the section; None if it is not there."""
    if section.get(key) is None:
        return None
    return Section({f"{SECTION}.{key}": section.get(key)}, f"{SECTION}.{key}", known)


def _texts(section: Section, key: str, form: re.Pattern[str]) -> tuple[str, ...]:
    values = section.get(key, [])
    if not isinstance(values, list) or not all(
        isinstance(one, str) and form.fullmatch(one) for one in values
    ):
        raise section.bad(key, "is no list of texts of the form that is needed")
    return tuple(values)


def _charts(section: Section) -> Charts:
    inner, default = _inner(section, "charts", Charts.__dataclass_fields__), Charts()
    if inner is None:
        return default
    return Charts(
        repo=inner.text("repo", REPO, IS_NO_REPO, default.repo),
        version=inner.text("version", VERSION, IS_NO_VERSION, default.version),
        cert_manager_repo=inner.text("cert_manager_repo", REPO, IS_NO_REPO, default.cert_manager_repo),
        cert_manager=inner.text(
            "cert_manager", re.compile(f"|{VERSION.pattern}"), IS_NO_VERSION, default.cert_manager
        ),
    )


def _images(section: Section) -> Images:
    inner, default = _inner(section, "images", Images.__dataclass_fields__), Images()
    if inner is None:
        return default
    return Images(
        registry=inner.text("registry", REGISTRY, "is no registry with a path", default.registry),
        tag=inner.text("tag", VERSION, "is no tag", default.tag),
        helper=inner.text("helper", IMAGE, "is no image with a tag", default.helper),
        pull_secrets=_texts(inner, "pull_secrets", NAME),
    )


def _home(section: Section) -> Home | None:
    inner = _inner(section, "home", Home.__dataclass_fields__)
    if inner is None:
        return None
    return Home(
        storage_class=inner.text("storage_class", CLASS, "is missing or no name of a storage class"),
        size=inner.text("size", QUANTITY, IS_NO_SIZE, "1Ti"),
        binds_late=inner.flag("binds_late", default=False),
    )


def _database(section: Section) -> Database | None:
    inner = _inner(section, "database", Database.__dataclass_fields__)
    if inner is None:
        return None
    return Database(
        host=inner.text("host", HOST, "is missing or no name of a host"),
        port=inner.number("port", 3306, least=1, most=65535),
        user=inner.text("user", USER, "is no name of a database's user", "slurm"),
    )


def _login(section: Section) -> Login:
    inner = _inner(section, "login", Login.__dataclass_fields__)
    if inner is None:
        return Login()
    return Login(
        replicas=inner.number("replicas", 1, least=0, most=10),
        service=inner.choice("service", SERVICES, "LoadBalancer"),
        root_keys=_texts(inner, "root_keys", SSH_KEY),
    )
