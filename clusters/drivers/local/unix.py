"""Unix users and groups of local clusters. A user carries our mark in its comment field."""

from __future__ import annotations

import grp
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError, TemporaryError

SHELL = "/bin/bash"
NO_SHELL = "/usr/sbin/nologin"
FULL_LOCK_EXITS = frozenset({1, 10})  # shadow(8): the files cannot be updated now


@dataclass(frozen=True, slots=True)
class Mark:
    """Written into each user that we make."""

    installation: str
    cluster: str

    @property
    def comment(self) -> str:
        """The text in the comment field of /etc/passwd."""
        return f"Freehold {self.installation} {self.cluster}"


def mark_of(spec: ClusterSpec) -> Mark:
    """The mark of a cluster's users."""
    return Mark(spec.installation, spec.id)


def group_id(name: str) -> int | None:
    """The gid of a group, or None."""
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def group_of_id(gid: int) -> str | None:
    """The name of a gid, or None."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return None


def user(name: str) -> pwd.struct_passwd | None:
    """A user by name, or None."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def user_of_id(uid: int) -> str | None:
    """The name of a uid, or None."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def users_with(mark: Mark) -> list[pwd.struct_passwd]:
    """All users that carry a cluster's mark."""
    return [entry for entry in pwd.getpwall() if entry.pw_gecos == mark.comment]


def add_group(name: str, gid: int) -> None:
    """Make a group."""
    _run(["groupadd", "--gid", str(gid), name])


def remove_group(name: str) -> None:
    """Remove a group."""
    _run(["groupdel", name])


def add_user(name: str, *, uid: int, gid: int, home: Path, mark: Mark) -> None:
    """Make a user without a usable password and without files."""
    facts = ["--uid", str(uid), "--gid", str(gid), "--home-dir", str(home), "--comment", mark.comment]
    _run(["useradd", *facts, "--no-create-home", "--no-log-init", "--shell", SHELL, "--password", "!", name])


def set_open(name: str, *, is_open: bool) -> None:
    """Open or close a user for anything that asks PAM or reads the shell; running processes go on."""
    shell, expires = (SHELL, "") if is_open else (NO_SHELL, "1")
    _run(["usermod", "--shell", shell, "--expiredate", expires, name])


def remove_user(name: str) -> None:
    """Remove a user, not its files."""
    # --force: a slurmrestd that still runs under this uid must not keep the name alive
    _run(["userdel", "--force", name])


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=25)
    except subprocess.TimeoutExpired as error:
        raise TemporaryError("PasswdLocked", "The system's user files are in use.") from error
    except subprocess.CalledProcessError as error:
        if error.returncode in FULL_LOCK_EXITS:
            raise TemporaryError("PasswdLocked", "The system's user files are in use.") from error
        raise PermanentError(
            "UserToolFailed",
            f"{command[0]} for {command[-1]} ended with exit code {error.returncode}.",
            hint="Run it by hand to see why.",
        ) from error
    except FileNotFoundError as error:
        raise PermanentError("UserToolMissing", f"{command[0]} is not installed.") from error
