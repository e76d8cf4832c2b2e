"""The isolation step: the last of every plan. Once all works, it shows that nobody else gets in."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from clusters.drivers.isolation import api_server, finding, machines, record, slurm
from clusters.drivers.isolation.around import Around, LookAround, Neighbour, SlurmDoor
from clusters.drivers.isolation.finding import Finding
from clusters.drivers.isolation.record import Record
from clusters.kube import kinds, tenant
from clusters.provisioning.steps import EMPTY, ClusterSpec, Observed, StepContext
from portal.lib import clock
from portal.lib.errors import OutsideError, PermanentError, TemporaryError

BUDGET = 12.0  # seconds of one look; other servers are tried at in the next
MOST = 3  # other clusters of one look, those first that were not tried for longest


def no_authorities(settings: Mapping[str, Any]) -> bytes:
    """Those of the system."""
    del settings
    return b""


class IsolationStep:
    """Nothing of it is left when the cluster is gone. A step is told its own facts only at removal.

    What fails needs a person at once: it stalls, which tells operators. What was not tried is not passed.
    """

    name = "isolation"
    component = "Freehold"
    deadline = dt.timedelta(minutes=15)

    def __init__(
        self,
        around: LookAround,
        needs: tuple[str, ...] = ("smoke",),
        authorities: Callable[[Mapping[str, Any]], bytes] = no_authorities,
    ) -> None:
        self.needs = needs
        self._around = around
        self._authorities = authorities  # of slurmrestds at addresses of the site's, from its settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per check, for the plan on the approval page."""
        del spec
        return (
            "tokens of this cluster tried at other tenants' servers",
            "machines compared with switch ports and nodes",
        )

    def observe(self, ctx: StepContext) -> Observed:
        """Tell what was shown, or try all of it when that is too long ago or about something else."""
        if self.name in ctx.facts:
            return Observed(exists=False)
        around = self._around(ctx.spec)
        known, about = record.read(ctx), record.about(ctx, around)
        if known is not None and known.holds(about):
            return Observed(True, True, True, facts=known.facts)
        try:
            made = self._look(ctx, around, known.tried if known else EMPTY, about)
        except api_server.ProbeMissing as error:
            if known is None:
                return Observed(exists=False, reason=error.reason, message=error.message)
            # whatever failed then is tried again once the account is there
            record.write(ctx, replace(known, about="", wrong=None))
            return Observed(True, reason=error.reason, message=error.message, facts=known.facts, routine=True)
        record.write(ctx, made)
        if made.wrong is not None:
            reason, message, _ = made.wrong
            # routine: a site that asks before it mends is not asked whether a failure may be told
            return Observed(True, reason=reason, message=message, facts=made.facts, routine=True)
        return Observed(True, True, True, facts=made.facts)

    def apply(self, ctx: StepContext) -> None:
        """Make the account with which it is tried; say what does not hold, for which nothing can be asked."""
        known = record.read(ctx)
        if known is not None and known.wrong is not None:
            reason, message, hint = known.wrong
            raise PermanentError(reason, message, hint=hint)
        api_server.make_account(tenant.access_of(ctx.secrets), ctx.spec, self.name)

    def remove(self, ctx: StepContext) -> None:
        """The account goes with its API server; what was shown is worth nothing any more."""
        if ctx.secrets.get(record.KEPT_AS):
            ctx.keep(record.KEPT_AS, b"", None)

    def _look(self, ctx: StepContext, around: Around, tried: Mapping[str, str], about: str) -> Record:
        until = time.monotonic() + BUDGET
        others = sorted(around.neighbours, key=lambda one: (tried.get(one.name, ""), one.name))[:MOST]
        access, seen = self._own_server(ctx), None
        if access is not None:
            seen = _nodes(access)
        seen = seen if seen is not None else machines.seen_by_slurm(ctx.facts)
        found = {
            "api_server": self._api_server(ctx, access, others, until=until),
            "slurm": self._slurm(ctx, access, others, until=until),
            "ports": machines.ports(ctx.spec, ctx.facts),
            "nodes": machines.nodes(ctx.spec, seen, around),
            "elsewhere": machines.alone(ctx.spec, ctx.facts, seen, around),
        }
        now = clock.now().isoformat()
        here = {one.name for one in around.neighbours}
        times = {name: at for name, at in tried.items() if name in here}
        return record.of_findings(found, about=about, tried=times | {one.name: now for one in others})

    def _own_server(self, ctx: StepContext) -> Access | None:
        """The way in, once the step that gives it was seen ready."""
        if "control-plane" not in ctx.facts:
            return None
        try:
            return tenant.access_of(ctx.secrets)
        except TemporaryError:
            return None

    def _api_server(
        self, ctx: StepContext, access: Access | None, others: list[Neighbour], *, until: float
    ) -> Finding:
        if access is not None:
            return api_server.check(access, others, until=until)
        coming = tenant.KEPT_AS in ctx.secrets
        return finding.unchecked(finding.NOT_YET, again=True) if coming else finding.unchecked(finding.NO_API)

    def _slurm(
        self, ctx: StepContext, access: Access | None, others: list[Neighbour], *, until: float
    ) -> Finding:
        facts, key = ctx.facts.get("slurm", EMPTY), ctx.secrets.get(record.JWT, b"")
        looks = [one.name for one in ctx.spec.accounts if one.kind == "observer" and one.active]
        if not (facts.get("url") and facts.get("api_version") and key and looks):
            return finding.unchecked(finding.NO_SLURM)
        own = self._authorities(ctx.settings)
        door = SlurmDoor(facts["url"], facts["api_version"], looks[0], key, own)
        return slurm.check(door, access, others, until=until)


def _nodes(access: Access) -> frozenset[str] | None:
    """What the cluster's own API server lists; None where it does not answer."""
    try:
        with closing(KubeClient(access, timeout=api_server.TIMEOUT)) as client:
            return frozenset(str(one["metadata"]["name"]) for one in client.list(kinds.NODE))
    except OutsideError:
        return None
