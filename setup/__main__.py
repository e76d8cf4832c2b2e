"""`python3 -m setup run|test [-- command ...]`: make the machine ready, then become the command.

`python3 -m setup kube` provides the Kubernetes programs, which `make run` builds beside the portal, and for
the tests Helm and charts; `python3 -m setup slurm-roots` makes the roots with newer Slurm for the tests.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from setup import charts, debian, environment, kube, slurm_roots
from setup.progress import SetupFailed, say

USER = "freehold"


def main(arguments: list[str]) -> None:
    """Ends by an error message and code 1, or becomes the command."""
    kind, command = arguments[0], arguments[2:]
    clone = Path(__file__).resolve().parents[1]
    if os.geteuid() != 0:
        _become_root(arguments)
    os.umask(0o022)  # every user must be able to read what is installed
    if kind == "kube":
        sys.exit(_provide_kube(clone, optional=arguments[1:] == ["optional"]))
    if kind == "slurm-roots":
        sys.exit(_provide_slurm_roots(optional=arguments[1:] == ["optional"]))
    try:
        with _alone():
            debian.install(kind, log=environment.CACHE / "apt.log")
            _make_user()
            environment.ensure(kind, clone=clone, log=environment.CACHE / "pip.log")
    except SetupFailed as error:
        say(str(error))
        sys.exit(1)
    if command:
        os.execvp(command[0], command)  # noqa: S606


@contextmanager
def _alone() -> Iterator[None]:
    """One set-up at a time on this machine; says so when another one is waited for."""
    environment.CACHE.mkdir(parents=True, exist_ok=True)
    with (environment.CACHE / "setup.lock").open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another set-up runs on this machine; waiting until it has ended")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _provide_kube(clone: Path, *, optional: bool) -> int:
    """The exit code. Optional: without them tests are skipped, which CI does not allow."""
    try:
        found = kube.provide(clone) | kube.provide(clone, kube.HELM)
        charts.provide(clone)
    except SetupFailed as error:
        say(f"The Kubernetes programs are not there. {error}")
        return 0 if optional and os.environ.get("CI", "").lower() != "true" else 1
    say("Kubernetes programs: all there")
    for place in () if optional else found.values():
        say(f"  {place}")
    return 0


def _provide_slurm_roots(*, optional: bool) -> int:
    """The exit code. Optional: without them the tests that need them fail, and all others can still run."""
    try:
        if len(slurm_roots.find()) < len(slurm_roots.RELEASES):
            with _alone():
                debian.install("slurm-roots", log=environment.CACHE / "apt.log")
        found = slurm_roots.provide()
    except SetupFailed as error:
        say(f"The roots with newer Slurm are not there. {error}")
        return 0 if optional and os.environ.get("CI", "").lower() != "true" else 1
    say("Roots with newer Slurm: all there")
    for place in () if optional else found.values():
        served = slurm_roots.api_versions(place)
        say(f"  {place}: {served[0]} to {served[-1]}")
    return 0


def _become_root(arguments: list[str]) -> None:
    sudo = shutil.which("sudo")
    if not sudo:
        say("Root is needed, and sudo is missing: Freehold starts daemons and jobs as accounts of their own.")
        sys.exit(1)
    ours = [f"{name}={value}" for name, value in os.environ.items() if _is_for_us(name)]
    say("Going on as root by sudo")
    os.execv(sudo, [sudo, "env", *ours, sys.executable, "-m", "setup", *arguments])  # noqa: S606


def _is_for_us(name: str) -> bool:
    """What sudo would drop and the set-up or the portal needs."""
    ours = name.startswith(("FREEHOLD_", "PIP_")) or name in {"CI", "KUBEBUILDER_ASSETS"}
    return ours or name.lower().endswith(("_proxy", "goproxy", "gosumdb"))


def _make_user() -> None:
    try:
        pwd.getpwnam(USER)
    except KeyError:
        command = ["useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent"]
        command += ["--shell", "/usr/sbin/nologin", USER]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SetupFailed(f"The system user {USER} could not be made: {done.stderr.strip()}") from None
        say(f"Made the system user {USER}")


if __name__ == "__main__":
    main(sys.argv[1:])
