"""Makes the virtual environment of a lock file, once, and readable for every user."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path

from setup.progress import SetupFailed, run, say

CACHE = Path("/var/cache/freehold")
SYSTEM_PYTHON = "/usr/bin/python3"  # another one may lie in a home that other users cannot enter
COMPLETE = ".complete"


def ensure(kind: str, *, clone: Path, log: Path) -> Path:
    """The environment for `kind` ("run" or "test"), made if needed, and linked as .venv in the clone."""
    locks = {"run": clone / "requirements" / "run.txt", "test": clone / "requirements" / "dev.txt"}
    # the environment for tests holds everything of the other, version for version
    for usable in ("test", kind):
        place = _place(locks[usable])
        if (place / COMPLETE).exists():
            say("Python packages: all there")
            break
    else:
        _make(place, locks[kind], log)
    _link(clone / ".venv", place)
    return place


def _place(lock: Path) -> Path:
    # python3.11, not its full version: a security update of Debian's keeps the environment good
    facts = lock.read_bytes() + Path(SYSTEM_PYTHON).resolve().name.encode() + platform.machine().encode()
    return CACHE / f"venv-{hashlib.sha256(facts).hexdigest()[:12]}"


def _make(place: Path, lock: Path, log: Path) -> None:
    count = sum(1 for line in lock.read_text(encoding="utf-8").splitlines() if "==" in line)
    say(f"Installing {count} Python packages of {lock.parent.name}/{lock.name} into {place}")
    shutil.rmtree(place, ignore_errors=True)
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    done = run([SYSTEM_PYTHON, "-m", "venv", str(place)], log=log, note=lambda _: None, environment=clean)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--requirement", str(lock)]
    pip += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-compile", "--no-input"]
    pip += ["--disable-pip-version-check", "--root-user-action", "ignore", "--progress-bar", "off"]
    done = done and run(pip, log=log, note=_Progress(count), environment=clean)
    if not done:
        raise SetupFailed("The Python packages could not be installed. Nothing was changed; try again.")
    say("Compiling them")
    compiling = [str(place / "bin" / "python"), "-m", "compileall", "-q", "-j", "0", str(place / "lib")]
    # a package may ship a file for another Python version; what cannot be compiled is not imported either
    subprocess.run(compiling, capture_output=True, check=False, env=clean)
    (place / COMPLETE).touch()


def _link(link: Path, place: Path) -> None:
    if link.is_symlink() and link.readlink() == place:
        return
    if link.exists() and not link.is_symlink():
        raise SetupFailed(f"{link} is a folder of your own. Move it away: it shall be a link to {place}.")
    new = link.with_name(".venv.new")
    new.unlink(missing_ok=True)
    new.symlink_to(place)
    new.replace(link)


class _Progress:
    def __init__(self, count: int) -> None:
        self.seen, self.count = 0, count

    def __call__(self, line: str) -> str | None:
        if line.startswith("Collecting "):
            self.seen += 1
            return f"{self.seen} of {self.count}: {line.split()[1]}"
        return line[:60] if line.startswith("Installing ") else None
