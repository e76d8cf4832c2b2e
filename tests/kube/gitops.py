"""What a GitOps controller does with a repository: applies what is in it, prunes what is not any more."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import yaml

from clusters.clients.kube.models import Kind, Ref, ref_of
from tests.kube.vendors import Hands


class Follower:
    """Follows one branch of a bare repository; may be paused."""

    def __init__(self, bare: Path, kinds: list[Kind], *, branch: str = "main") -> None:
        self._bare, self._branch = bare, branch
        self._kinds = {(kind.api_version, kind.kind): kind for kind in kinds}
        self._made: set[Ref] = set()
        self._paused = False
        self._round = threading.Lock()

    @property
    def paused(self) -> bool:
        """Whether it does nothing; set, no round is under way any more."""
        return self._paused

    @paused.setter
    def paused(self, value: bool) -> None:
        with self._round:
            self._paused = value

    def look(self, hands: Hands) -> None:
        """One round: apply, then prune."""
        with self._round:
            if not self._paused:
                self._follow(hands)

    def _follow(self, hands: Hands) -> None:
        there = {ref_of(one, kind): one for kind, one in self._objects()}
        for ref, one in there.items():
            if hands.apply(one, ref):
                self._made.add(ref)
        for ref in self._made - set(there):
            found = hands.client.get(ref)
            if found is None:
                self._made.discard(ref)
            elif not found["metadata"].get("deletionTimestamp"):
                hands.client.delete(ref, uid=found["metadata"]["uid"])

    def _objects(self) -> list[tuple[Kind, dict[str, Any]]]:
        found = []
        commit = self._git("rev-parse", self._branch).strip()  # one look is of one commit
        for name in self._git("ls-tree", "-r", "--name-only", commit).splitlines():
            if name.endswith(".yaml"):
                for one in yaml.safe_load_all(self._git("show", f"{commit}:{name}")):
                    kind = self._kinds.get((one.get("apiVersion"), one.get("kind")))
                    if kind is not None:
                        found.append((kind, one))
        return found

    def _git(self, *words: str) -> str:
        command = ["git", "--git-dir", str(self._bare), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
