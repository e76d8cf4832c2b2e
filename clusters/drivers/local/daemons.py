"""Finds, starts and ends the daemons of local clusters; the process table is the truth, records are hints.

A daemon is known by its executable, by SLURM_CONF in its environment, and by the uid it runs as: a job of
a tenant can imitate the first two, never the third.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from portal.lib import processes
from portal.lib.errors import PermanentError, TemporaryError
from portal.lib.processes import ProcessRecord

KINDS = ("slurmrestd", "slurmctld", "slurmd", "munged")  # the order in which they end
STEP_DAEMON = "slurmstepd"
ROLE, VERSION, CONF = "FREEHOLD_DAEMON", "FREEHOLD_CONFIG", "SLURM_CONF"
STARTING = "FREEHOLD_STARTING"  # in the environment of what is about to become a daemon
STEP_PROGRAM = "step"  # a script beside the daemons' links, about to become a step daemon
LAUNCHERS = frozenset({"setsid", "nice", "unshare", "sh", "dash", "bash", "busybox", "setpriv", "env"})
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that should run."""

    role: str  # its kind; for a slurmd followed by a dash and the node
    argv: tuple[str, ...]
    uid: int
    gid: int
    version: str  # of its configuration: one with another version is started again
    groups: tuple[int, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    is_wrapped: bool = False  # argv begins with programs that make way for the daemon


@dataclass(frozen=True, slots=True)
class Running:
    """A daemon that was found."""

    role: str
    version: str
    uid: int
    conf: str
    kind: str  # what program it is or is about to be
    record: ProcessRecord = field(repr=False)


def program(kind: str, links: Path) -> str:
    """The path by which a daemon is started; `link_programs` makes it."""
    return str(links / kind)


def link_programs(links: Path) -> None:
    """Link each program under its plain name. Raises PermanentError NotInstalled.

    Debian's emulator package takes over the plain names, and under any other name than the plain one
    slurmctld does not believe that it is a daemon: so the real file is linked under its plain name.
    """
    for kind in (*KINDS, STEP_DAEMON):
        real = shutil.which(f"{kind}-wlm", path=PATH) or shutil.which(kind, path=PATH)
        if real is None:
            raise PermanentError(
                "NotInstalled", f"{kind} is not installed here.", hint="Install Debian's Slurm packages."
            )
        link = links / kind
        if not link.is_symlink() or str(link.readlink()) != real:
            link.unlink(missing_ok=True)
            link.symlink_to(real)


def _kind_of(executable: str) -> str:
    return Path(executable).name.removesuffix("-wlm")


def find(wanted: Callable[[str], bool], kinds: Collection[str] = KINDS) -> list[Running]:
    """All daemons whose SLURM_CONF is wanted, also those that are just being started, oldest first."""
    found: list[Running] = []
    for pid in processes.all_pids():
        with suppress(OSError):
            kind = _kind_of(str((processes.PROC / str(pid) / "exe").readlink()))
            if kind not in kinds and kind not in LAUNCHERS:
                continue
            environment = processes.environment_of(pid)
            conf = environment.get(CONF, "")
            if not wanted(conf):
                continue
            if kind in LAUNCHERS:
                kind = _will_be(pid, environment)
            # a daemon leads its session; a fork of it in passing does not
            if kind not in kinds or (kind != STEP_DAEMON and processes.session_of(pid) != pid):
                continue
            record = processes.record(pid, environment=f"{CONF}={conf}")
            if processes.is_running(record):
                uid, _ = processes.real_ids(pid)
                role = environment.get(ROLE, kind)
                found.append(Running(role, environment.get(VERSION, ""), uid, conf, kind, record))
    return sorted(found, key=lambda one: (one.record.started, one.record.pid))


def _will_be(pid: int, environment: Mapping[str, str]) -> str:
    if STARTING in environment:
        return environment.get(ROLE, "").partition("-")[0]
    command = (processes.PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    step = Path(environment[CONF]).parent.parent / "bin" / STEP_PROGRAM
    return STEP_DAEMON if str(step).encode() in command[:2] else ""


def of_cluster(conf: Path, uids: Collection[int]) -> dict[str, Running]:
    """The daemons of one cluster by role. Of two the older counts: slurmd's forks may lead a session too."""
    running: dict[str, Running] = {}
    for one in find(str(conf).__eq__):
        if one.uid in uids and one.kind == one.role.partition("-")[0]:
            running.setdefault(one.role, one)
    return running


def start(daemon: Daemon, *, conf: Path | None, log: Path) -> None:
    """Start a daemon in a session of its own, with nothing of our environment but what it needs.

    `conf` is the slurm.conf of one of Slurm's; another daemon is known by a variable of its own.
    """
    environment = {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        **({CONF: str(conf)} if conf else {}),
        ROLE: daemon.role,
        VERSION: daemon.version,
        **({STARTING: "1"} if daemon.is_wrapped else {}),
        **dict(daemon.environment),
    }
    with (log / f"{daemon.role}.out").open("wb") as output:
        # setsid forks once more, so that a worker leaves no zombie when a daemon dies
        subprocess.run(
            ["setsid", "--fork", *daemon.argv],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            cwd="/",
            user=daemon.uid,
            group=daemon.gid,
            extra_groups=daemon.groups,
            umask=0o022,
            timeout=10,
        )


def signal_all(records: Iterable[ProcessRecord], number: signal.Signals) -> list[ProcessRecord]:
    """Signal those that still are what was recorded; returns them."""
    return [record for record in records if processes.send_signal(record, number)]


def wait_gone(records: Iterable[ProcessRecord], *, seconds: float) -> list[ProcessRecord]:
    """Give processes a moment to end; returns those that still run."""
    left = list(records)
    return left if not until(lambda: not _still(left), seconds=seconds) else []


def _still(left: list[ProcessRecord]) -> list[ProcessRecord]:
    left[:] = [record for record in left if processes.is_running(record)]
    return left


def until(condition: Callable[[], bool], *, seconds: float) -> bool:
    """Look every few milliseconds, for a moment only: what takes longer is for the next pass."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def job_processes(wanted: Callable[[str], bool], gids: Collection[int]) -> list[ProcessRecord]:
    """All that jobs have left running: step daemons, what is below them, and what runs under the groups.

    A job can leave its step daemon's tree by forking twice; its group it cannot leave.
    """
    steps = [one.record for one in find(wanted, kinds=(STEP_DAEMON,))]
    pids = dict.fromkeys(processes.descendants(record.pid for record in steps))
    for pid in processes.all_pids():
        with suppress(OSError):
            if processes.real_ids(pid)[1] in gids:
                pids[pid] = None
    return _recorded(pids)


def _recorded(pids: Iterable[int]) -> list[ProcessRecord]:
    records: list[ProcessRecord] = []
    for pid in pids:
        with suppress(OSError):
            if pid != os.getpid():
                records.append(processes.record(pid))
    return [record for record in records if processes.is_running(record)]


def end_jobs(wanted: Callable[[str], bool], gids: Collection[int], *, seconds: float = 2) -> int:
    """Kill all that `job_processes` finds but daemons, until nothing is left; returns how many there were.

    Raises TemporaryError when a job forks faster than it is ended.
    """
    spared = {one.record.pid for one in find(wanted)}
    killed: set[int] = set()

    def nothing_left() -> bool:
        left = [record for record in job_processes(wanted, gids) if record.pid not in spared]
        killed.update(record.pid for record in left)
        signal_all(left, signal.SIGKILL)
        return not left

    if not until(nothing_left, seconds=seconds):
        raise TemporaryError("StillStopping", "Some jobs of the cluster still end.")
    return len(killed)


def listens(port: int) -> bool:
    """Whether something listens on a loopback port. Does not connect: daemons would log each visit."""
    table = (processes.PROC / "net" / "tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(
        fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port
        for fields in map(str.split, table)
    )


def accepts(path: Path) -> bool:
    """Whether something listens on a unix socket, looked up likewise."""
    lines = (processes.PROC / "net" / "unix").read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.endswith(f" {path}") and int(line.split()[3], 16) & 0x10000 for line in lines[1:])


def kill_trees(roots: Iterable[int]) -> None:
    """End step daemons and all that runs below them, at once."""
    signal_all(_recorded(processes.descendants(roots)), signal.SIGKILL)
