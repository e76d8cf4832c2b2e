"""The base of nearly every step that makes objects on an API server."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Manifest, Ref
from clusters.kube import judging, marks, tenant
from clusters.kube.objects import Wanted
from clusters.kube.preview import changes, to_come
from clusters.kube.sinks import Batch, Scope, Seen, ServerSideApply, Sink
from clusters.provisioning.steps import EMPTY, Change, ClusterSpec, Observed, StepContext
from portal.lib.errors import OutsideError, TemporaryError

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

    def for_plan(self, ctx: StepContext) -> StepContext:
        """With stand-ins for secrets that are only made on the way; a plan shows none of them."""
        return ctx

    def sink(self, ctx: StepContext) -> Sink:
        """Where the objects go."""
        return ServerSideApply(self.client(ctx), ctx.passed_on)

    def client(self, ctx: StepContext) -> KubeClient:
        """The API server on which they are seen."""
        return self._clients(ctx)

    # -- the three verbs

    def observe(self, ctx: StepContext) -> Observed:
        """See Step."""
        sink = self.sink(ctx)
        try:
            batch = self.batch(ctx)
        except OutsideError as error:
            seen = sink.read(self._bare(ctx))
            live = self._live(ctx, sink, self._bare(ctx), seen)
            exists = bool(seen.ours or live.ours)
            return Observed(exists=exists, reason=error.reason, message=error.message)
        seen = sink.read(batch)
        return self._judge(ctx, batch, seen, self._live(ctx, sink, batch, seen))

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
        """See Previews. Where the API server itself is still to come, nothing can be there yet."""
        batch = self.batch(self.for_plan(ctx))
        try:
            seen, client = self.sink(ctx).read(batch), self.client(ctx)
        except TemporaryError as error:
            if error.reason != tenant.NO_ACCESS:
                raise
            return to_come(batch, system=self.system)
        return changes(batch, seen, client, system=self.system)

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

    def _bare(self, ctx: StepContext) -> Batch:
        order = ctx.facts.get("order", EMPTY)
        cause = ", ".join(f"{name} {order[name]}" for name in ("order", "actor") if order.get(name))
        return Batch(ctx.spec, self.name, self.scopes(ctx), cause=cause)

    def _live(self, ctx: StepContext, sink: Sink, batch: Batch, seen: Seen) -> Seen:
        """What is on the API server, whoever brought it there."""
        return seen if sink.live else ServerSideApply(self.client(ctx)).read(batch)

    def _judge(self, ctx: StepContext, batch: Batch, seen: Seen, live: Seen) -> Observed:
        """What was seen, as the engine wants to hear it."""
        kept = {one.ref for one in batch.wanted if one.kept}
        exists = any(ref not in kept for ref in (*seen.ours, *live.ours))
        found = judging.differences_of(batch, seen)
        trouble = judging.trouble(batch, seen, live, found)
        facts = self.facts(ctx, live.ours) if exists else EMPTY
        if not exists:
            # nothing is there: that is no trouble, unless another thing has the name
            reason, message = trouble if trouble and seen.foreign else ("", "")
            return Observed(exists=False, reason=reason, message=message)
        if trouble:
            return Observed(True, reason=trouble[0], message=trouble[1], differences=found, facts=facts)
        state = judging.readiness(batch, seen, live)
        return Observed(True, True, state.ready, state.reason, state.message, facts=facts)
