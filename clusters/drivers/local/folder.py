"""The folder of one local cluster: its parts, their owners, and the mark that says it is ours."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clusters.drivers.local import files, unix
from clusters.drivers.local.daemons import STEP_PROGRAM
from clusters.drivers.local.names import group_name, is_free_id
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError, TemporaryError
from portal.lib.types import JSONDict


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """Paths below <data>/clusters/<external name>. Only the cluster's own group may enter it."""

    root: Path

    @property
    def mark(self) -> Path:
        """Says which installation and cluster made all this; written before anything else."""
        return self.root / "freehold.json"

    @property
    def conf(self) -> Path:
        """slurm.conf. Its path, in a daemon's environment, also names the cluster a daemon belongs to."""
        return self.root / "etc" / "slurm.conf"

    @property
    def gres(self) -> Path:
        """gres.conf, beside slurm.conf."""
        return self.root / "etc" / "gres.conf"

    @property
    def jwt_key(self) -> Path:
        """The key of the cluster's tokens."""
        return self.root / "keys" / "jwt.key"

    @property
    def munge_key(self) -> Path:
        """The key between the cluster's daemons."""
        return self.root / "keys" / "munge.key"

    @property
    def munge_socket(self) -> Path:
        """Where every program of the cluster meets its munged."""
        return self.root / "run" / "munge.socket"

    @property
    def homes(self) -> Path:
        """One folder per account."""
        return self.root / "home"

    def home(self, account: str) -> Path:
        """An account's home."""
        return self.homes / account

    def machine(self, node: str) -> Path:
        """What jobs on a node write into /tmp and the like."""
        return self.root / "tmp" / node

    @property
    def step_program(self) -> Path:
        """What slurmd starts for each step of a job."""
        return self.root / "bin" / STEP_PROGRAM

    def state(self, name: str) -> Path:
        """A state file of ours."""
        return self.root / "local" / f"{name}.json"


def of(clusters: Path, spec: ClusterSpec) -> ClusterFolder:
    """The folder of a cluster, whether or not it exists."""
    return ClusterFolder(clusters / spec.name)


def marks(spec: ClusterSpec) -> JSONDict:
    """What everything of a cluster carries."""
    return {"freehold.io/installation": spec.installation, "freehold.io/cluster": spec.id}


def is_ours(folder: ClusterFolder, spec: ClusterSpec) -> bool:
    """True only if the folder carries the mark of this very cluster."""
    found = files.read_json(folder.mark) or {}
    return all(found.get(key) == value for key, value in marks(spec).items())


def name_taken(what: str) -> PermanentError:
    """Something has our name and not our mark."""
    return PermanentError(
        "NameTaken",
        f"There already is {what} that Freehold did not make for this cluster. It was left as it is.",
        hint="Look whose it is. Move it away, then try again.",
    )


def claim(folder: ClusterFolder, spec: ClusterSpec) -> None:
    """Make the folder with its mark inside, in one move. Raises PermanentError NameTaken."""
    if os.path.lexists(folder.root):
        if not is_ours(folder, spec):
            raise name_taken(f"a folder {spec.name}")
        return
    folder.root.parent.mkdir(mode=0o711, exist_ok=True)
    draft = ClusterFolder(folder.root.with_name(f".new-{spec.name}"))
    files.remove_tree(draft.root)
    draft.root.mkdir(mode=0o700)
    files.write_json(draft.mark, {**marks(spec), "group": group_name(spec.name), "gid": spec.gid})
    draft.root.rename(folder.root)


def job_gids(folder: ClusterFolder) -> frozenset[int]:
    """The group under which the cluster's jobs run, as our mark says; empty when that is not its group."""
    mark = files.read_json(folder.mark) or {}
    group, gid = mark.get("group"), mark.get("gid")
    if not isinstance(group, str) or not isinstance(gid, int) or not is_free_id(gid):
        return frozenset()
    return frozenset({gid}) if unix.group_id(group) == gid else frozenset()


@contextmanager
def alone(folder: ClusterFolder) -> Iterator[None]:
    """Only one worker at a time changes a cluster. Raises TemporaryError when another is at it."""
    handle = os.open(folder.root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TemporaryError("Busy", "Another worker is changing this cluster.") from error
        yield
    finally:
        os.close(handle)
