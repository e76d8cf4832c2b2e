"""Makes root folders of newer Debian releases, from which tests run newer Slurm: each once, by debootstrap.

A root holds Debian's own packages and nothing else, belongs to no clone, and is never written to once it
is made: who runs something in it mounts what must change over it, in a mount namespace of its own.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from setup import environment
from setup.progress import SetupFailed, run, say

RELEASES: Final = ("trixie", "testing")  # beside Debian 12, whose Slurm is installed on the machine itself
PACKAGES: Final = (
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "slurmrestd",
    "slurm-client",
    "slurm-wlm-jwt-plugin",
    "munge",
)
SCRIPTS: Final = Path("/usr/share/debootstrap/scripts")
KEYS: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PARSER: Final = re.compile(r"data_parser_v(\d+)_(\d+)_(\d+)\.so")

# Runs in a mount and a process namespace of its own: nothing that it mounts or starts outlives it.
RECIPE: Final = r"""
set -eu
suite=$1 root=$2 mirror=$3 script=$4 keys=$5
shift 5
more=
case $mirror in https:*) more=--include=ca-certificates ;; esac
debootstrap --variant=minbase $more --keyring="$keys" "$suite" "$root" "$mirror" "$script"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
cat >"$root/etc/dpkg/dpkg.cfg.d/quick" <<'END'
force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/locale/*
END
# a testing tree's Release file may be past its Valid-Until where a mirror lags; signatures still count
cat >"$root/etc/apt/apt.conf.d/99quick" <<'END'
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
END
apt-config dump Acquire::http::Proxy Acquire::https::Proxy >>"$root/etc/apt/apt.conf.d/99quick"
case $mirror in https:*) cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" ;; esac
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -euc '
  apt-get update --quiet
  apt-get install --yes --quiet --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
  apt-get clean
  rm -rf /var/lib/apt/lists/* /var/log/* /var/cache/debconf/*-old' sh "$@"
umount "$root/proc"
: >"$root/etc/resolv.conf"
"""


def place(suite: str) -> Path:
    """Where the root of a release lies, made or not: another recipe or machine has another place."""
    facts = "\0".join((suite, RECIPE, *PACKAGES, platform.machine()))
    digest = hashlib.sha256(facts.encode()).hexdigest()[:12]
    return environment.CACHE / "slurm-roots" / f"{suite}-{digest}"


def find() -> dict[str, Path]:
    """The roots that are there."""
    return {suite: place(suite) for suite in RELEASES if place(suite).is_dir()}


def api_versions(root: Path) -> tuple[str, ...]:
    """The API versions that its slurmrestd can serve, oldest first: a release is judged by these."""
    found = {
        tuple(map(int, match.groups()))
        for path in root.glob("usr/lib/*/slurm*/data_parser_v*.so")
        if (match := PARSER.fullmatch(path.name))
    }
    return tuple("v" + ".".join(map(str, numbers)) for numbers in sorted(found))


def provide() -> dict[str, Path]:
    """All roots, made where missing. Raises SetupFailed; what was made is kept."""
    if len(found := find()) == len(RELEASES):
        return found
    with _lock():
        missing = [suite for suite in RELEASES if suite not in find()]  # another process may have made them
        if missing:
            _make_all(missing)
    return find()


def mirror() -> str:
    """The Debian mirror that this machine's apt uses for its own release. Raises SetupFailed."""
    asked = "$(CREATED_BY)|$(LABEL)|$(REPO_URI)"
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", asked], capture_output=True, text=True, check=False
    )
    for line in done.stdout.splitlines():
        kind, label, address = line.split("|", 2)
        if kind == "Packages" and label == "Debian" and address.startswith(("http:", "https:", "file:")):
            return address
    raise SetupFailed("apt's settings name no Debian mirror, so no newer Slurm can be fetched.")


def _make_all(missing: list[str]) -> None:
    for needed in ("debootstrap", "unshare"):
        if not shutil.which(needed):
            raise SetupFailed(f"{needed} is missing, and newer Slurm runs from a root that it makes.")
    address = mirror()
    say(f"Making roots with newer Slurm, once: {', '.join(missing)}; this takes some minutes")
    with ThreadPoolExecutor(max_workers=len(missing)) as pool:
        errors = [str(error) for error in pool.map(lambda suite: _try(suite, address), missing) if error]
    if errors:
        raise SetupFailed(" ".join(errors))


def _try(suite: str, address: str) -> SetupFailed | None:
    try:
        _make(suite, address)
    except SetupFailed as error:
        return error
    return None


def _make(suite: str, address: str) -> None:
    goal = place(suite)
    for left in goal.parent.glob(f".{suite}-*"):
        shutil.rmtree(left)  # half made by a process that was killed
    draft = Path(tempfile.mkdtemp(prefix=f".{suite}-", dir=goal.parent))
    draft.chmod(0o755)
    began = time.monotonic()
    script = suite if (SCRIPTS / suite).exists() else "sid"  # an older debootstrap does not know newer names
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private"]
    command += ["--pid", "--fork", "--kill-child"]  # a set-up that is killed takes all of it along
    command += ["sh", "-c", RECIPE, "sh", suite, str(draft), address, str(SCRIPTS / script), str(KEYS)]
    log = goal.parent / f"{suite}.log"
    try:
        done = run([*command, *PACKAGES], log=log, note=_Progress(suite), environment=_variables())
        served = api_versions(draft)
        if not done or not served:
            raise SetupFailed(f"The root of {suite} could not be made; the output is in {log}.")
        draft.rename(goal)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    say(
        f"Made the root of {suite} in {time.monotonic() - began:.0f} s; it serves {served[0]} to {served[-1]}"
    )


def _variables() -> Mapping[str, str]:
    """The environment, with the proxy of apt's settings for debootstrap, which does not read them."""
    variables = {**os.environ, "LC_ALL": "C.UTF-8"}
    for scheme in ("http", "https"):
        asked = ["apt-config", "dump", "--format", "%v%n", f"Acquire::{scheme}::Proxy"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        if told and told != "DIRECT":
            variables[f"{scheme}_proxy"] = told.splitlines()[0]
    return variables


@contextmanager
def _lock() -> Iterator[None]:
    folder = environment.CACHE / "slurm-roots"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process makes the roots with newer Slurm; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Progress:
    """Counts what debootstrap and then apt report about."""

    def __init__(self, suite: str) -> None:
        self.suite, self.fetched, self.ready = suite, 0, 0

    def __call__(self, line: str) -> str | None:
        self.fetched += line.startswith(("I: Retrieving ", "Get:"))
        self.ready += line.startswith(("I: Configuring ", "Setting up "))
        if line.startswith(("I: ", "Get:", "Unpacking ", "Setting up ")):
            return f"{self.suite}: {self.fetched} fetched, {self.ready} set up: {line[:50]}"
        return None
