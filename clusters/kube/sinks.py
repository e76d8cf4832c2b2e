"""The two ways by which objects leave the portal: server-side apply, or a commit (clusters.kube.git)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest, Ref, ref_of
from clusters.kube import marks
from clusters.kube.drift import differences
from clusters.kube.objects import Wanted
from clusters.provisioning.steps import ClusterSpec


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a step may have objects: a kind, in one namespace or, for kinds without, in the cluster."""

    kind: Kind
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """All that one step wants for one cluster; `wanted` is marked and in the order of making."""

    spec: ClusterSpec
    step: str
    scopes: tuple[Scope, ...]
    wanted: tuple[Wanted, ...] = ()
    cause: str = ""  # the order and who acted, for a commit's message


@dataclass(frozen=True, slots=True)
class Seen:
    """What is there: ours by mark, wanted or left over, and names that others hold."""

    ours: Mapping[Ref, Manifest] = field(default_factory=dict, repr=False)
    foreign: tuple[Ref, ...] = ()

    def left_over(self, batch: Batch) -> tuple[Ref, ...]:
        """Ours that are not wanted any more."""
        wanted = {one.ref for one in batch.wanted}
        return tuple(ref for ref in self.ours if ref not in wanted)


class Sink(Protocol):
    """Takes objects somewhere. Raises TemporaryError and PermanentError only; every verb may be repeated.

    `live` says that what it reads is what an API server holds, with status.
    """

    live: bool

    def read(self, batch: Batch) -> Seen:
        """Look; change nothing. Whole or an error."""

    def apply(self, batch: Batch) -> None:
        """Make what is missing, mend what differs, ask for the removal of what is left over.

        Raises NameTaken before anything is changed.
        """

    def remove(self, batch: Batch) -> None:
        """Ask for the removal of all of it; what is `kept` stays."""


class ServerSideApply:
    """Straight to an API server. A pass that finds all as wanted costs one list per scope."""

    live = True

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    def read(self, batch: Batch) -> Seen:
        """See Sink."""
        ours: dict[Ref, Manifest] = {}
        labels = marks.labels(batch.spec, batch.step)
        wanted = {one.ref for one in batch.wanted}
        for scope in batch.scopes:
            for found in self._client.list(scope.kind, namespace=scope.namespace, labels=labels):
                ref = ref_of(found, scope.kind)
                # owned: whatever the server makes of a selector
                if marks.owned(found, batch.spec) and (ref in wanted or not is_child(found)):
                    ours[ref] = found
        foreign = []
        for ref in (one.ref for one in batch.wanted if one.ref not in ours):
            namesake = self._client.get(ref)
            if namesake is None:
                continue
            if marks.owned(namesake, batch.spec):
                ours[ref] = namesake
            else:
                foreign.append(ref)
        return Seen(ours, tuple(foreign))

    def apply(self, batch: Batch) -> None:
        """See Sink."""
        seen = self.read(batch)
        if seen.foreign:
            raise marks.name_taken(seen.foreign[0])
        for one in batch.wanted:
            found = seen.ours.get(one.ref)
            if found is None:
                self._client.apply(one.manifest, one.kind)
            elif not deleting(found) and differences(one, found):
                # with its uid: never a namesake that took its place since
                meta = {**one.manifest["metadata"], "uid": found["metadata"]["uid"]}
                self._client.apply({**one.manifest, "metadata": meta}, one.kind)
        self._delete(seen, reversed(seen.left_over(batch)))

    def remove(self, batch: Batch) -> None:
        """See Sink. The last made goes first; what has a finalizer is waited for before others go.

        Things of one kind that stand together go together.
        """
        seen = self.read(batch)
        order = [one.ref for one in batch.wanted if not one.kept and one.ref in seen.ours]
        self._delete(seen, [*reversed(seen.left_over(batch)), *reversed(order)])

    def _delete(self, seen: Seen, refs: Iterable[Ref]) -> None:
        held: Kind | None = None
        for ref in refs:
            found = seen.ours[ref]
            if held is not None and ref.kind != held:
                return
            if not deleting(found):
                self._client.delete(ref, uid=found["metadata"]["uid"])
            if found["metadata"].get("finalizers"):
                held = ref.kind


def is_child(found: Manifest) -> bool:
    """Whether a controller made it of another object, whose labels it copied: that controller removes it.

    Seen of slurm-operator 1.2.1, which copies a Controller's labels to its ConfigMap and StatefulSet.
    """
    owners = (found.get("metadata") or {}).get("ownerReferences") or ()
    return any(owner.get("controller") for owner in owners)


def deleting(found: Manifest) -> bool:
    """Whether its removal was asked for."""
    return bool((found.get("metadata") or {}).get("deletionTimestamp"))
