"""Opens and reads one file as the job's user. Runs in a child that ends with it."""

from __future__ import annotations

import ctypes
import errno
import os
import pwd
import re
import resource
import signal
import stat
from collections.abc import Callable
from typing import Final

import msgspec

from jobs.output_reader import finder
from jobs.output_reader.protocol import CHUNK, TAIL, Header, State, Target

ACCOUNT: Final = re.compile(r"fh[a-z0-9]{4,28}")
LOWEST_ID: Final = 1000  # below are the system's own
SECONDS: Final = 8  # then the kernel ends the child, for example on a file system that hangs
PR_SET_DUMPABLE: Final = 4  # prctl(2)
FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})
_libc = ctypes.CDLL(None, use_errno=True)


def is_ours(target: Target) -> bool:
    """True for an account that Freehold made, with the very ids that the lookup gave."""
    if ACCOUNT.fullmatch(target.account) is None or min(target.uid, target.gid) < LOWEST_ID:
        return False
    try:
        entry = pwd.getpwnam(target.account)
    except KeyError:
        return False
    return (entry.pw_uid, entry.pw_gid) == (target.uid, target.gid)


def become(target: Target) -> None:
    """Turn this process into the job's user for good. Raises OSError or PermissionError."""
    os.chdir("/")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    os.setgroups([])
    os.setresgid(target.gid, target.gid, target.gid)
    os.setresuid(target.uid, target.uid, target.uid)
    # the memory is a copy of the portal's: the user may neither trace it nor read it under /proc
    if _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise PermissionError("The child could not be closed to its user.")
    if os.getresuid() != (target.uid,) * 3 or os.getresgid() != (target.gid,) * 3 or os.getgroups():
        raise PermissionError("The child is not only the job's user.")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)


def read(path: str, uid: int, start: int | None) -> tuple[Header, bytes]:
    """A part of a regular file that this uid owns; the process is that uid already."""

    def part(handle: int, size: int) -> tuple[Header, bytes]:
        # it became shorter: a requeued job began again
        first = max(0, size - TAIL) if start is None or start > size else start
        data = os.pread(handle, min(CHUNK, size - first), first)
        return Header(state="ok", size=size, offset=first, length=len(data)), data

    return _with_file(path, uid, part)


def find(path: str, uid: int, start: int | None, text: str) -> tuple[Header, bytes]:
    """Where a text stands in such a file: the answer is JSON, see protocol.Found."""

    def part(handle: int, size: int) -> tuple[Header, bytes]:
        first = 0 if start is None or start > size else start
        found = finder.find(lambda place, most: os.pread(handle, most, place), size, first, text)
        data = msgspec.json.encode(found)
        return Header(state="ok", size=size, offset=first, length=len(data)), data

    os.nice(10)  # others wait for their tails
    return _with_file(path, uid, part)


def _with_file(path: str, uid: int, part: Callable[[int, int], tuple[Header, bytes]]) -> tuple[Header, bytes]:
    if not path.startswith("/") or "\0" in path:
        return Header(state="refused"), b""
    try:
        handle = os.open(path, FLAGS)
    except OSError as error:
        return Header(state=_why_not(error)), b""
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return Header(state="not_regular"), b""
        if found.st_uid != uid:
            return Header(state="refused"), b""
        return part(handle, found.st_size)
    except OSError:
        return Header(state="failed"), b""
    finally:
        os.close(handle)


def _why_not(error: OSError) -> State:
    if error.errno in GONE:
        return "missing"
    # a socket, or a device that is not there
    return "not_regular" if error.errno in {errno.ENXIO, errno.ENODEV} else "refused"
