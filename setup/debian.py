"""Installs the Debian packages that are missing, and starts none of them as a system service."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from setup.progress import SetupFailed, run, say

PYTHON = ("python3-venv",)
STORES = ("postgresql", "redis-server")
SLURM = ("slurmctld", "slurmd", "slurmrestd", "slurm-client", "slurm-wlm-jwt-plugin", "munge")
# the programs of the server and of its client alone: no service, no database
ACCOUNTING = ("slurmdbd", "mariadb-server-core", "mariadb-client-core")
BROWSER = ("chromium", "fonts-dejavu-core", "fonts-liberation")
WORDS = ("gettext",)  # the tests compare the catalogue with the sources
ROOTS = ("debootstrap",)  # newer Slurm for the tests
PACKAGES = {
    "run": PYTHON + STORES + SLURM + ACCOUNTING,
    "test": PYTHON + STORES + SLURM + ACCOUNTING + BROWSER + WORDS + ROOTS,
    "slurm-roots": ROOTS,
}
SERVICES = ("postgresql", "redis-server", "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "munge")

POLICY = Path("/usr/sbin/policy-rc.d")
NO_CLUSTER = Path("/etc/postgresql-common/createcluster.d/freehold.conf")


def install(kind: str, *, log: Path) -> None:
    """Install what `kind` needs and is not there. Raises SetupFailed with the names of what is missing."""
    if not shutil.which("dpkg-query"):
        raise SetupFailed(
            "This machine is not a Debian. Freehold's set-up needs Debian 12, or these by other means: "
            + ", ".join(PACKAGES[kind])
        )
    missing = _missing(PACKAGES[kind])
    if not missing:
        say("Debian packages: all there")
        return
    command = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends"]
    command += ["-o", "Dpkg::Use-Pty=0", "-o", "Dpkg::Options::=--force-unsafe-io"]
    command += ["-o", "Dpkg::Options::=--force-confold", *missing]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "UCF_FORCE_CONFFOLD": "1"}
    say("Reading Debian's package lists")
    update = ["apt-get", "update", "--quiet", "-o", "Acquire::Languages=none"]
    if not run(update, log=log, note=lambda line: line, environment=environment):
        raise SetupFailed(f"Debian's package lists could not be read. Missing: {', '.join(missing)}.")
    say(f"Running: {shlex.join(command)}")
    with _no_services(missing), _no_postgres_cluster(missing):
        run(command, log=log, note=_Progress(), environment=environment)
    if still := _missing(missing):
        raise SetupFailed(
            f"These Debian packages could not be installed: {', '.join(still)}. Freehold runs real Slurm "
            "clusters and real databases on this machine and cannot start without them."
        )
    say("Debian packages: installed")


def _missing(packages: tuple[str, ...] | list[str]) -> list[str]:
    answer = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *packages],
        capture_output=True,
        text=True,
        check=False,
    )
    there = {line.split()[0] for line in answer.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in packages if name not in there]


@contextmanager
def _no_services(missing: list[str]) -> Iterator[None]:
    """Let no installed package start its service, now or at the next boot; a policy that is there stays."""
    ours = not POLICY.exists()
    if ours:
        POLICY.write_text("#!/bin/sh\n# Freehold's set-up: start nothing.\nexit 101\n", encoding="ascii")
        POLICY.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            POLICY.unlink(missing_ok=True)
    systemctl = shutil.which("systemctl")
    for service in SERVICES:
        if service in missing and systemctl:
            _quietly([systemctl, "disable", f"{service}.service"])
        if service in missing and Path("/etc/init.d", service).exists():
            _quietly(["update-rc.d", service, "disable"])


@contextmanager
def _no_postgres_cluster(missing: list[str]) -> Iterator[None]:
    """Freehold makes its own private cluster; the package would add a system one."""
    if "postgresql" not in missing:
        yield
        return
    NO_CLUSTER.parent.mkdir(parents=True, exist_ok=True)
    NO_CLUSTER.write_text("create_main_cluster = false\n", encoding="ascii")
    try:
        yield
    finally:
        NO_CLUSTER.unlink(missing_ok=True)


def _quietly(command: list[str]) -> None:
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)


class _Progress:
    """Counts what apt reports about."""

    def __init__(self) -> None:
        self.unpacked = self.ready = 0

    def __call__(self, line: str) -> str | None:
        self.unpacked += line.startswith("Unpacking ")
        self.ready += line.startswith("Setting up ")
        if line.startswith(("Get:", "Unpacking ", "Setting up ")):
            return f"{self.unpacked} unpacked, {self.ready} set up: {line[:60]}"
        return None
