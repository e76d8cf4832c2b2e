"""A folder of small marked files, one per thing at the site: what a real site would ask its systems."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clusters.drivers.local import files, folder
from clusters.drivers.local.names import label
from clusters.kube.drift import NOTHING
from clusters.provisioning.steps import ClusterSpec, Difference
from portal.lib.errors import OutsideError, TemporaryError
from portal.lib.types import JSONDict

INSTALLATION, CLUSTER = "freehold.io/installation", "freehold.io/cluster"


@dataclass(frozen=True, slots=True)
class Ledger:
    """Things of one kind, by name. Each is nobody's (absent) or belongs to exactly one cluster."""

    root: Path
    kind: str  # "machine", "switch port", "VPC": for messages

    def of_cluster(self, spec: ClusterSpec) -> dict[str, JSONDict]:
        """All entries that carry the cluster's mark, by file name."""
        found: dict[str, JSONDict] = {}
        if not self.root.is_dir():
            return found
        for path in sorted(self.root.glob("*.json")):
            content = files.read_json(path) or {}
            if folder.marks(spec).items() <= content.items():
                found[path.stem] = content
        return found

    def wanted(self, spec: ClusterSpec, things: dict[str, JSONDict]) -> dict[str, JSONDict]:
        """What `of_cluster` should find for these things, each with facts of its own."""
        return {label(name): {"name": name, **facts, **folder.marks(spec)} for name, facts in things.items()}

    def differences(
        self, spec: ClusterSpec, things: dict[str, JSONDict], *, spare: Collection[str] = ()
    ) -> tuple[Difference, ...]:
        """Entries that are missing, too much or other than these; those of spare things may be there."""
        wanted, present = self.wanted(spec, things), self.of_cluster(spec)
        beyond = present.keys() - wanted.keys() - {label(name) for name in spare}
        return (
            *(one for stem in sorted(wanted) for one in self._entry(stem, wanted[stem], present.get(stem))),
            *(Difference(f"{self.kind} {stem}", "", "not there", "there") for stem in sorted(beyond)),
        )

    def _entry(self, stem: str, wanted: JSONDict, found: JSONDict | None) -> Iterator[Difference]:
        thing = f"{self.kind} {stem}"
        if found is None:
            yield Difference(thing, "", "there", "not there")
            return
        for name in sorted({*wanted, *found}):
            if (left := wanted.get(name, NOTHING)) != (right := found.get(name, NOTHING)):
                yield Difference(thing, name, str(left), str(right))

    def claim(self, spec: ClusterSpec, things: dict[str, JSONDict], *, spare: Collection[str] = ()) -> None:
        """Make the entries be exactly these; those of spare things stay. Raises NameTaken or MachineTaken."""
        files.ensure_folders(self.root)
        wanted, present = self.wanted(spec, things), self.of_cluster(spec)
        for stem in present.keys() - wanted.keys() - {label(name) for name in spare}:
            self._path(stem).unlink(missing_ok=True)
        for stem, content in wanted.items():
            if stem not in present:
                self._add(spec, stem, content)
            elif present[stem] != content:
                files.write_json(self._path(stem), content)

    def release(self, spec: ClusterSpec) -> None:
        """Remove every entry of the cluster, also of machines that the spec has forgotten."""
        for stem in self.of_cluster(spec):
            self._path(stem).unlink(missing_ok=True)

    def _path(self, stem: str) -> Path:
        return self.root / f"{stem}.json"

    def _add(self, spec: ClusterSpec, stem: str, content: JSONDict) -> None:
        draft = self.root / f".{stem}.{spec.name}.new"
        files.write_json(draft, content)
        try:
            # a link and not a move: whoever comes second is refused
            os.link(draft, self._path(stem))
        except FileExistsError:
            raise self._taken(spec, stem) from None
        finally:
            with suppress(FileNotFoundError):
                draft.unlink()

    def _taken(self, spec: ClusterSpec, stem: str) -> OutsideError:
        holder = files.read_json(self._path(stem)) or {}
        if holder.get(INSTALLATION) == spec.installation and holder.get(CLUSTER):
            # a cluster that shrinks or goes may still be about to give it back
            return TemporaryError(
                "MachineTaken",
                f"The {self.kind} {stem} still belongs to another cluster at this site.",
                hint="If it stays so: compare the allocations with the site's ledger.",
            )
        return folder.name_taken(f"a {self.kind} {stem}")
