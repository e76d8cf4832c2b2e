"""The folder and the processes of one local control plane: etcd, kube-apiserver, kube-controller-manager.

All three run under one user id that nothing else has: the number of the cluster's group, which is never
given out as a user's. So what runs under it, and names the folder in its environment, is ours.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clusters.drivers.local import daemons
from clusters.drivers.local.daemons import ROLE, VERSION
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.names import NOBODY
from clusters.provisioning.steps import ClusterSpec
from portal.lib import processes
from portal.lib.errors import TemporaryError
from portal.lib.processes import ProcessRecord

PLANE = "FREEHOLD_PLANE"  # in the environment of each process: the folder of its control plane
SERVER, ETCD, PEER = 2, 3, 4  # offsets in the cluster's block of ports
GID = NOBODY  # not the cluster's group: jobs are known by that one
ROLES = ("kube-controller-manager", "kube-apiserver", "etcd")  # the order in which they end


@dataclass(frozen=True, slots=True)
class Plane:
    """Paths below <data>/planes/<external name>. Only the plane's own user reads its keys."""

    root: Path

    @property
    def home(self) -> ClusterFolder:
        """The same folder, for its mark and its lock."""
        return ClusterFolder(self.root)

    @property
    def authority_keys(self) -> Path:
        """Keys of the two authorities: for root alone, no process of the plane needs them."""
        return self.root / "keys"

    @property
    def pki(self) -> Path:
        """Certificates, and keys that the plane's user reads."""
        return self.root / "pki"

    @property
    def store(self) -> Path:
        """What etcd keeps."""
        return self.root / "etcd"

    @property
    def log(self) -> Path:
        """What the processes print."""
        return self.root / "log"


@dataclass(frozen=True, slots=True)
class Found:
    """A process of a control plane."""

    role: str
    version: str
    plane: str
    record: ProcessRecord = field(repr=False)


def of(data: Path, spec: ClusterSpec) -> Plane:
    """The control plane of a cluster, whether or not it exists."""
    return Plane(data / "planes" / spec.name)


def gone(plane: Plane) -> Path:
    """Where the folder is while it is being removed."""
    return plane.root.with_name(f".gone-{plane.root.name}")


def find(root: Path, uid: int) -> dict[str, Found]:
    """The processes of one plane by role, also those that are just being started."""
    return {one.role: one for one in search({str(root): uid})}


def search(planes: dict[str, int]) -> list[Found]:
    """The processes of these folders, each under its own uid."""
    found: list[Found] = []
    for pid in processes.all_pids():
        with suppress(OSError):
            uid, _ = processes.real_ids(pid)
            if uid not in planes.values():
                continue
            environment = processes.environment_of(pid)
            plane = environment.get(PLANE, "")
            if planes.get(plane) == uid and environment.get(ROLE) in ROLES:
                record = processes.record(pid, environment=f"{PLANE}={plane}")
                found.append(Found(environment[ROLE], environment.get(VERSION, ""), plane, record))
    return found


def end(found: Iterable[Found], *, seconds: float = 8) -> None:
    """End processes, etcd last so that it writes all. Raises TemporaryError when one stays."""
    left = list(found)
    for role in ROLES:
        records = [one.record for one in left if one.role == role]
        daemons.signal_all(records, signal.SIGTERM)
        if stubborn := daemons.wait_gone(records, seconds=seconds / 4):
            daemons.signal_all(stubborn, signal.SIGKILL)
            if daemons.wait_gone(stubborn, seconds=1):
                raise TemporaryError("StillStopping", f"{role} of the control plane still ends.")


def age(found: Found) -> float:
    """Seconds since the process began."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - found.record.started / os.sysconf("SC_CLK_TCK")


def memory_mib(found: Iterable[Found]) -> int:
    """Resident memory of the processes together, in MiB."""
    pages = 0
    for one in found:
        with suppress(OSError):
            statm = (processes.PROC / str(one.record.pid) / "statm").read_text(encoding="ascii")
            pages += int(statm.split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20
