"""Where the Kubernetes programs are, or why not: the set-up links them into the data folder."""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass
from pathlib import Path

from clusters.drivers.local import files
from portal.lib.errors import PermanentError

NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager")
MISSING = "KubeAssetsMissing"
NOTE = "state.json"  # written by setup/kube.py


class State(enum.Enum):
    """Whether a control plane can be started."""

    THERE = "there"
    BEING_BUILT = "being built"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder with links to the programs."""

    folder: Path

    def path(self, name: str) -> Path:
        """The program itself, past the link: a new release has another one."""
        return (self.folder / name).resolve()

    @property
    def state(self) -> State:
        """There, on the way, or missing until a person does something."""
        if all((self.folder / name).exists() for name in NEEDED):
            return State.THERE
        note = files.read_json(self.folder / NOTE) or {}
        return State.BEING_BUILT if note.get("state") == "building" else State.MISSING

    def wait_message(self) -> str:
        """A sentence for people while they are being built."""
        since = (files.read_json(self.folder / NOTE) or {}).get("since", 0)
        minutes = int(max(time.time() - since, 0) / 60) if isinstance(since, int | float) else 0
        return (
            "The Kubernetes programs are being built on this machine, once,"
            f" since {minutes} min. Jobs can run meanwhile."
        )

    def missing(self) -> PermanentError:
        """What a person is told."""
        note = files.read_json(self.folder / NOTE) or {}
        told = str(note.get("text", ""))
        told = f" {told}" if told else ""
        return PermanentError(
            MISSING,
            f"This machine lacks the Kubernetes programs.{told} Jobs can run meanwhile.",
            hint="Install Go, then start the portal again: it builds them and goes on with this step.",
        )
