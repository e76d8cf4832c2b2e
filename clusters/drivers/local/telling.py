"""How files, folders and users of this machine differ from what they should be, for people to read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clusters.drivers.local import files
from clusters.kube.drift import NOTHING
from clusters.kube.text import HIDDEN
from clusters.provisioning.steps import Difference

THERE, NOT_THERE = "there", "not there"
LONGEST = 200


def missing(thing: str) -> Difference:
    """It is to be there and is not."""
    return Difference(thing, "", THERE, NOT_THERE)


def of_folder(path: Path, *, mode: int, uid: int, gid: int) -> Iterator[Difference]:
    """Of a folder that is to have this mode and owner."""
    if files.is_folder(path, mode=mode, uid=uid, gid=gid):
        return
    try:
        found = path.lstat()
    except OSError:
        yield missing(f"folder {path}")
        return
    there = f"{found.st_mode & 0o7777:04o} {found.st_uid}:{found.st_gid}"
    yield Difference(f"folder {path}", "mode and owner", f"{mode:04o} {uid}:{gid}", there)


def of_file(path: Path, wanted: bytes, *, is_secret: bool = False) -> Iterator[Difference]:
    """Of a file that is to hold this: the lines that are not the same, or only that it differs."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        yield missing(f"file {path.name}")
        return
    if found == wanted:
        return
    if is_secret:
        yield Difference(f"file {path.name}", "content", HIDDEN, HIDDEN)
        return
    lines, others = (text.decode("utf-8", "replace").splitlines() for text in (wanted, found))
    left, right = _by_name(lines, others), _by_name(others, lines)
    if not left and not right:
        yield Difference(f"file {path.name}", "content", "lines in another order", "")
    for name in dict.fromkeys((*left, *right)):
        pair = left.get(name, NOTHING), right.get(name, NOTHING)
        yield Difference(f"file {path.name}", name, *(text[:LONGEST] for text in pair))


def _by_name(lines: list[str], others: list[str]) -> dict[str, str]:
    """Lines that the others lack, by what they set: "MaxJobCount", or "NodeName=a" of a line with more."""
    known = set(others)
    return {_name(line): line for line in lines if line and line not in known}


def _name(line: str) -> str:
    first, *more = line.split(" ", 1)
    return first if more else first.partition("=")[0]
