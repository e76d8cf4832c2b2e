"""The two ways by which objects leave the portal: server-side apply, or a commit (clusters.kube.git)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest, Ref, ref_of
from clusters.kube import marks
from clusters.kube.drift import differences
from clusters.kube.objects import Wanted
from clusters.provisioning.steps import ClusterSpec

MOMENT: Final = 2.0  # seconds for which an apply goes by what the look before it has listed


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
    """Straight to an API server. A pass that finds all as wanted costs one list per scope.

    Where an apply follows a look at once (`passed_on`), nothing is read twice: the look lists, the apply asks
    for the names that no list had just before it changes anything, and the look after it takes what the
    server answered. Whatever was deleted is looked for anew.
    """

    live = True

    def __init__(self, client: KubeClient, passed_on: dict[str, Any] | None = None) -> None:
        self._client = client
        self._passed_on = passed_on

    def read(self, batch: Batch) -> Seen:
        """See Sink. Before an apply, names that no list has are still to be asked for."""
        if self._passed_on is None:
            return self._asked(batch, self._listed(batch))
        known = self._known(batch)
        if known is None:
            known = self._pass_on(batch, self._listed(batch), time.monotonic())
        return known.seen

    def apply(self, batch: Batch) -> None:
        """See Sink."""
        known = self._known(batch)
        at = known.at if known else time.monotonic()
        seen = self._asked(batch, known.seen.ours if known else self._listed(batch))
        if self._passed_on is not None:
            self._passed_on.pop(batch.step, None)  # a lost answer leaves nothing to rely on
        if seen.foreign:
            raise marks.name_taken(seen.foreign[0])
        ours = dict(seen.ours)
        for one in batch.wanted:
            found = ours.get(one.ref)
            if found is None:
                ours[one.ref] = self._client.apply(one.manifest, one.kind)
            elif not deleting(found) and differences(one, found):
                # with its uid: never a namesake that took its place since
                meta = {**one.manifest["metadata"], "uid": found["metadata"]["uid"]}
                ours[one.ref] = self._client.apply({**one.manifest, "metadata": meta}, one.kind)
        left = seen.left_over(batch)
        self._delete(seen, reversed(left))
        if not left and all(_is(ref, found, batch) for ref, found in ours.items()):
            self._pass_on(batch, ours, at)

    # -- what is read

    def _listed(self, batch: Batch) -> dict[Ref, Manifest]:
        """Ours, by one list per scope."""
        ours: dict[Ref, Manifest] = {}
        labels = marks.labels(batch.spec, batch.step)
        wanted = {one.ref for one in batch.wanted}
        for scope in batch.scopes:
            for found in self._client.list(scope.kind, namespace=scope.namespace, labels=labels):
                ref = ref_of(found, scope.kind)
                # owned: whatever the server makes of a selector
                if marks.owned(found, batch.spec) and (ref in wanted or not is_child(found)):
                    ours[ref] = found
        return ours

    def _asked(self, batch: Batch, listed: Mapping[Ref, Manifest]) -> Seen:
        """With what bears a wanted name and was in no list: ours without a label, or others'."""
        ours, foreign = dict(listed), []
        for ref in (one.ref for one in batch.wanted if one.ref not in listed):
            namesake = self._client.get(ref)
            if namesake is None:
                continue
            if marks.owned(namesake, batch.spec):
                ours[ref] = namesake
            else:
                foreign.append(ref)
        return Seen(ours, tuple(foreign))

    def _known(self, batch: Batch) -> _Known | None:
        """What was read a moment ago, in the same places."""
        known = (self._passed_on or {}).get(batch.step)
        if known is None or known.scopes != batch.scopes or time.monotonic() - known.at > MOMENT:
            return None
        return known if isinstance(known, _Known) else None

    def _pass_on(self, batch: Batch, ours: Mapping[Ref, Manifest], at: float) -> _Known:
        known = _Known(Seen(ours), batch.scopes, at)
        if self._passed_on is not None:
            self._passed_on[batch.step] = known
        return known

    def remove(self, batch: Batch) -> None:
        """See Sink. The last made goes first; what has a finalizer is waited for before others go.

        Things of one kind that stand together go together.
        """
        seen = self._asked(batch, self._listed(batch))
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


@dataclass(frozen=True, slots=True)
class _Known:
    """What was seen in these scopes at a moment of the monotonic clock."""

    seen: Seen
    scopes: tuple[Scope, ...]
    at: float


def _is(ref: Ref, found: Manifest, batch: Batch) -> bool:
    """Whether it is the object of that name with our mark, whatever a server answered."""
    try:
        return ref_of(found, ref.kind) == ref and marks.owned(found, batch.spec)
    except ValueError:
        return False


def is_child(found: Manifest) -> bool:
    """Whether a controller made it of another object, whose labels it copied: that controller removes it.

    Seen of slurm-operator 1.2.1, which copies a Controller's labels to its ConfigMap and StatefulSet.
    """
    owners = (found.get("metadata") or {}).get("ownerReferences") or ()
    return any(owner.get("controller") for owner in owners)


def deleting(found: Manifest) -> bool:
    """Whether its removal was asked for."""
    return bool((found.get("metadata") or {}).get("deletionTimestamp"))
