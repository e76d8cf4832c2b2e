"""Unix accounts as Freehold makes them, for the length of a test."""

from __future__ import annotations

import grp
import pwd
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LOCKED = {1, 10}  # useradd(8): another process changes the user files at this moment


@dataclass(frozen=True, slots=True)
class Account:
    """A user that exists."""

    name: str
    uid: int
    gid: int

    def line(self, file: str, folder: Path) -> str:
        """Its line of passwd or group."""
        if file == "group":
            return f"{self.name}:x:{self.gid}:\n"
        return f"{self.name}:x:{self.uid}:{self.gid}::{folder}/home/{self.name}:/bin/bash\n"


def invented(count: int) -> list[Account]:
    """Accounts that no user file of this machine names."""
    token, base = secrets.token_hex(4), _free_ids(count)
    return [Account(f"fht{token}{index}", base + index, base + index) for index in range(count)]


@contextmanager
def accounts(count: int) -> Iterator[list[Account]]:
    """Users of one group of their own, removed afterwards."""
    token = secrets.token_hex(4)
    base = _free_ids(count + 1)
    group = f"fht{token}"
    made: list[Account] = []
    _run("groupadd", "--gid", str(base), group)
    try:
        for index in range(count):
            one = Account(f"fht{token}{index}", base + 1 + index, base)
            facts = ["--uid", str(one.uid), "--gid", str(one.gid), "--home-dir", "/nonexistent"]
            _run("useradd", *facts, "--no-create-home", "--no-log-init", "--shell", "/bin/bash", one.name)
            made.append(one)
        yield made
    finally:
        for one in made:
            _run("userdel", "--force", one.name)
        if group in {entry.gr_name for entry in grp.getgrall()}:
            _run("groupdel", group)


def _free_ids(count: int) -> int:
    used = {entry.pw_uid for entry in pwd.getpwall()} | {entry.gr_gid for entry in grp.getgrall()}
    while True:
        base = 1_000_000_000 + secrets.randbelow(1_000_000_000)
        if used.isdisjoint(range(base, base + count)):
            return base


def _run(*command: str) -> None:
    end = time.monotonic() + 180
    while True:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        if done.returncode not in LOCKED or time.monotonic() > end:
            raise AssertionError(f"{' '.join(command)}: {done.stderr}")
        time.sleep(0.05)
