"""Small file habits of the local drivers: whole files or none, and trees that go for good."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

from portal.lib.errors import TemporaryError
from portal.lib.types import JSONDict


def write_atomic(path: Path, content: bytes, *, mode: int = 0o600, uid: int = 0, gid: int = 0) -> None:
    """Replace a file in one move; a crash leaves the old one."""
    draft = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        draft.unlink()
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb") as file:  # noqa: PTH123 -- a descriptor, so that nothing can be put in between
        os.fchown(handle, uid, gid)
        os.fchmod(handle, mode)
        file.write(content)
        file.flush()
        os.fsync(handle)
    draft.replace(path)


def write_json(path: Path, content: JSONDict) -> None:
    """Replace a state file that root alone reads."""
    write_atomic(path, json.dumps(content, indent=1, sort_keys=True).encode() + b"\n")


def read_json(path: Path) -> JSONDict | None:
    """A state file, or None when it is absent or not one of ours."""
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def ensure_folder(path: Path, *, mode: int, uid: int = 0, gid: int = 0) -> None:
    """Make a folder, or mend its owner and mode."""
    path.mkdir(mode=0o700, exist_ok=True)
    os.chown(path, uid, gid, follow_symlinks=False)
    path.chmod(mode)


def ensure_folders(path: Path) -> None:
    """Make a folder and those above it that are missing, for root alone."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            ensure_folder(folder, mode=0o700)


def is_folder(path: Path, *, mode: int, uid: int = 0, gid: int = 0) -> bool:
    """True when `ensure_folder` would change nothing."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return (found.st_mode, found.st_uid, found.st_gid) == (0o040000 | mode, uid, gid)


def remove_tree(path: Path) -> None:
    """Remove a folder whatever tenants made below it. Raises TemporaryError when something stays."""
    # rm and not shutil: jobs may nest folders deeper than Python's stack
    command = ["rm", "-rf", "--one-file-system", "--", str(path)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=25)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise TemporaryError("FolderStays", f"The folder {path.name} could not be removed yet.") from error
