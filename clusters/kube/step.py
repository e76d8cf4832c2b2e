"""The base of nearly every step that makes objects on an API server."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Manifest, Ref
from clusters.kube import marks
from clusters.kube.drift import differences
from clusters.kube.objects import Wanted
from clusters.kube.preview import changes
from clusters.kube.sinks import Batch, Scope, Seen, ServerSideApply, Sink, deleting
from clusters.provisioning.steps import EMPTY, Change, ClusterSpec, Difference, Observed, StepContext
from portal.lib import clock
from portal.lib.errors import OutsideError

Clients = Callable[[StepContext], KubeClient]


class ObjectsStep:
    """Makes what `wanted` says, in order; sees drift, readiness and what is left over; removes all of it.

    A subclass gives name, component, needs, deadline, `describe`, `scopes` and `wanted`, and where there
    are some, `facts`. An object belongs to one step only. At least one wanted object is not `kept`.
    """

    name: str
    component: str
    system: str = "Kubernetes"  # where the objects go, e.g. "the control plane cluster"
    needs: tuple[str, ...] = ()
    deadline: dt.timedelta = dt.timedelta(minutes=10)

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    # -- what a subclass says

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        raise NotImplementedError

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """Everywhere that this step ever makes objects, whatever is wanted now. Raises nothing."""
        raise NotImplementedError

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """The objects, those that others need first. May raise; then what is there can still be removed."""
        raise NotImplementedError

    def facts(self, ctx: StepContext, found: Mapping[Ref, Manifest]) -> Mapping[str, str]:
        """What people and later steps need to know of what was found, which may be only a part.

        Never a secret. Told in every look that finds something, since removal needs facts too.
        """
        del ctx, found
        return EMPTY

    def sink(self, ctx: StepContext) -> Sink:
        """Where the objects go."""
        return ServerSideApply(self.client(ctx))

    def client(self, ctx: StepContext) -> KubeClient:
        """The API server on which they are seen."""
        return self._clients(ctx)

    # -- the three verbs

    def observe(self, ctx: StepContext) -> Observed:
        """See Step."""
        try:
            batch = self.batch(ctx)
        except OutsideError as error:
            seen = self.sink(ctx).read(self._bare(ctx))
            return Observed(exists=bool(seen.ours), reason=error.reason, message=error.message)
        return self.judge(ctx, batch, self.sink(ctx).read(batch))

    def apply(self, ctx: StepContext) -> None:
        """See Step."""
        self.sink(ctx).apply(self.batch(ctx))

    def remove(self, ctx: StepContext) -> None:
        """See Step."""
        try:
            batch = self.batch(ctx)
        except OutsideError:
            batch = self._bare(ctx)
        self.sink(ctx).remove(batch)

    def preview(self, ctx: StepContext) -> tuple[Change, ...]:
        """See Previews."""
        batch = self.batch(ctx)
        return changes(batch, self.sink(ctx).read(batch), self.client(ctx), system=self.system)

    # -- how it judges

    def batch(self, ctx: StepContext) -> Batch:
        """What is wanted, marked."""
        wanted = tuple(
            replace(one, manifest=marks.marked(one.manifest, ctx.spec, self.name)) for one in self.wanted(ctx)
        )
        scopes = self.scopes(ctx)
        for one in wanted:
            if Scope(one.kind, one.ref.namespace) not in scopes:
                raise ValueError(f"{one.ref} is outside the scopes of the step {self.name}.")
        return replace(self._bare(ctx), wanted=wanted)

    def judge(self, ctx: StepContext, batch: Batch, seen: Seen) -> Observed:
        """What was seen, as the engine wants to hear it."""
        kept = {one.ref for one in batch.wanted if one.kept}
        exists = any(ref not in kept for ref in seen.ours)
        found = self.differences(batch, seen)
        trouble = (
            _taken(seen)
            or _going(seen)
            or _missing(batch, seen)
            or _drifted(found)
            or _left(seen.left_over(batch))
        )
        facts = self.facts(ctx, seen.ours) if exists else EMPTY
        if not exists or trouble:
            reason, message = trouble or ("", "")
            if not exists and reason == "ObjectsMissing":
                reason, message = "", ""
            told = found if exists else ()
            return Observed(exists, reason=reason, message=message, differences=told, facts=facts)
        for one in batch.wanted:
            state = one.ready(seen.ours[one.ref])
            if not state.ready:
                return Observed(True, True, reason=state.reason, message=state.message, facts=facts)
        return Observed(exists=True, in_sync=True, ready=True, facts=facts)

    def differences(self, batch: Batch, seen: Seen) -> tuple[Difference, ...]:
        """Every field that is not as wanted, every object that is missing or too much."""
        missing = [one.ref for one in batch.wanted if one.ref not in seen.ours]
        return (
            *(Difference(str(ref), "", "there", "not there") for ref in missing),
            *(
                difference
                for one in batch.wanted
                if one.ref in seen.ours
                for difference in differences(one, seen.ours[one.ref])
            ),
            *(Difference(str(ref), "", "not there", "there") for ref in seen.left_over(batch)),
        )

    def _bare(self, ctx: StepContext) -> Batch:
        order = ctx.facts.get("order", EMPTY)
        cause = ", ".join(f"{name} {order[name]}" for name in ("order", "actor") if order.get(name))
        return Batch(ctx.spec, self.name, self.scopes(ctx), cause=cause)


Trouble = tuple[str, str] | None


def _taken(seen: Seen) -> Trouble:
    if not seen.foreign:
        return None
    error = marks.name_taken(seen.foreign[0])
    return error.reason, error.message


def _going(seen: Seen) -> Trouble:
    going = [(ref, found) for ref, found in seen.ours.items() if deleting(found)]
    for ref, found in going:
        if finalizers := found["metadata"].get("finalizers"):
            return "Finalizer", f"{ref} is held by {', '.join(finalizers)} for {_age(found)}."
    return ("BeingRemoved", f"{going[0][0]} is being removed.") if going else None


def _missing(batch: Batch, seen: Seen) -> Trouble:
    return _counted(
        "ObjectsMissing", "Not there", [one.ref for one in batch.wanted if one.ref not in seen.ours]
    )


def _left(refs: Iterable[Ref]) -> Trouble:
    return _counted("LeftOver", "Not wanted any more", list(refs))


def _counted(reason: str, words: str, refs: list[Ref]) -> Trouble:
    more = f" and {len(refs) - 1} more" if len(refs) > 1 else ""
    return (reason, f"{words}: {refs[0]}{more}.") if refs else None


def _drifted(found: tuple[Difference, ...]) -> Trouble:
    fields = [one for one in found if one.path]
    if not fields:
        return None
    first = f"{fields[0].thing}: {fields[0].path} is {fields[0].found}, wanted {fields[0].wanted}"
    return "Drift", f"{first}; and {len(fields) - 1} more." if len(fields) > 1 else f"{first}."


def _age(found: Manifest) -> str:
    since = dt.datetime.fromisoformat(found["metadata"]["deletionTimestamp"])
    minutes = max(int((clock.now() - since).total_seconds()) // 60, 0)
    if minutes < 1:
        return "less than a minute"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
