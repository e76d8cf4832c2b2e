"""Slurm itself: by SchedMD's chart through the site's GitOps controller, or by Slinky's objects directly."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from clusters.clients.kube.models import Ref
from clusters.clients.slurmrest.models import NodeRecord
from clusters.drivers.slinky import names, pods, ready, shapes, values
from clusters.drivers.slinky.leaving import Workers
from clusters.drivers.slinky.reach import Reach, observer
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.kube import kinds
from clusters.kube.gitops.installer import Installer
from clusters.kube.objects import READY, Readiness, Wanted
from clusters.kube.sinks import Scope
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext
from portal.lib.errors import OutsideError, PermanentError

DIRECT_KINDS = (
    kinds.CONFIG_MAP,
    names.CONTROLLER,
    names.REST_API,
    names.NODE_SET,
    names.LOGIN_SET,
)


class SlurmStep(ObjectsStep):
    """Ready when its pods run, every worker has registered and slurmrestd answers for all of them."""

    name = "slurm"
    component = "Slinky"
    deadline = dt.timedelta(minutes=30)

    def __init__(
        self,
        settings: SlinkySettings,
        clients: Clients,
        tenants: Clients,
        reach: Reach,
        installer: Installer | None = None,
    ) -> None:
        super().__init__(clients)
        self._settings = settings
        self._tenants = tenants
        self._reach = reach
        self._installer = installer
        self.system = "the site's GitOps" if installer else "the tenant's cluster"
        self.needs = ("nodes", "gpu", "addons", "home", "accounting", "slurm-keys")

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        login = self._settings.login
        return (
            f"Slurm cluster {spec.name} by {self._how()}",
            *(
                f"partition {pool.name}: {ready.wanted_workers(pool)} workers of {pool.flavor.name}"
                for pool in spec.pools
            ),
            *([f"{login.replicas} login pods by {login.service}"] if login.replicas else []),
        )

    def _how(self) -> str:
        version = self._settings.charts.version
        return f"chart slurm {version}" if self._installer else "Slinky's objects"

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        if self._installer is not None:
            return self._installer.scopes()
        return tuple(Scope(kind, names.NAMESPACE) for kind in DIRECT_KINDS)

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        spec, settings = ctx.spec, self._settings
        replicas = self._replicas(ctx)
        if self._installer is not None:
            return self._installer.install(spec, self.name, (values.slurm(spec, settings, replicas),))
        return (
            *shapes.config(settings),
            shapes.controller(spec, settings),
            shapes.rest_api(settings),
            *(shapes.node_set(pool, spec, settings, replicas[pool.name]) for pool in spec.pools),
            *([shapes.login_set(settings)] if settings.login.replicas else []),
        )

    def observe(self, ctx: StepContext) -> Observed:
        """See Step."""
        seen = super().observe(ctx)
        if not seen.exists:
            return seen
        workers = Workers.of(self._tenants(ctx), ctx.spec) if self._is_shrinking(ctx) else None
        if workers is not None and (busy := workers.busy()):
            message = f"{', '.join(sorted(busy))} take no new jobs and go when theirs end."
            return replace(seen, in_sync=False, reason="NodesBusy", message=message, waits_for="running jobs")
        if not (seen.in_sync and seen.ready):
            return seen
        state = ready.workloads(self._tenants(ctx), ctx.spec, self._settings)
        if state.ready:
            return self._answering(ctx, seen)
        return self._unready(ctx, seen, state)

    def _unready(self, ctx: StepContext, seen: Observed, state: Readiness) -> Observed:
        """Whether there is something to ask for, or only to wait."""
        if missing := self._runtime_missing(ctx):
            return replace(
                seen, in_sync=False, ready=False, routine=True, reason=missing.reason, message=missing.message
            )
        if state.reason == "NodesNotUsable" and Workers.of(self._tenants(ctx), ctx.spec).to_mark():
            return replace(seen, in_sync=False, ready=False, reason="NodesReturning", message=state.message)
        return replace(seen, ready=False, reason=state.reason, message=state.message)

    def apply(self, ctx: StepContext) -> None:
        """See Step. Workers that go are marked before their NodeSet shrinks."""
        client = self._tenants(ctx)
        if missing := self._runtime_missing(ctx):
            raise missing
        if client.serves(names.NODE_SET):
            for pod in Workers.of(client, ctx.spec).to_mark():
                client.apply(pod, kinds.POD)
        super().apply(ctx)

    def _runtime_missing(self, ctx: StepContext) -> PermanentError | None:
        """Without it the API server makes no worker's pod, and nothing tells why. Not asked of what works."""
        if not self._settings.vnode or self._tenants(ctx).get(Ref(kinds.RUNTIME_CLASS, pods.VNODE)):
            return None
        return PermanentError(
            "RuntimeClassMissing",
            f"The cluster has no RuntimeClass {pods.VNODE}, in which people's programs are to run.",
            hint="Have the site's template or GitOps install the vnode-runtime chart into tenants' clusters,"
            " or set slinky.vnode to false; then retry.",
        )

    def _is_shrinking(self, ctx: StepContext) -> bool:
        return any(pool.leaving for pool in ctx.spec.pools)

    def _replicas(self, ctx: StepContext) -> dict[str, int]:
        if self._is_shrinking(ctx):
            workers = Workers.of(self._tenants(ctx), ctx.spec)
            return {pool.name: workers.replicas(pool) for pool in ctx.spec.pools}
        return {pool.name: ready.wanted_workers(pool) for pool in ctx.spec.pools}

    def _answering(self, ctx: StepContext, seen: Observed) -> Observed:
        """The cluster's endpoint is told only once slurmrestd has answered for every node."""
        try:
            account = observer(ctx.spec).name
            found = self._reach.discover(ctx, account)
            state = _all_there(ctx.spec, self._reach.gateway(ctx, account, found.api).nodes())
        except PermanentError as error:
            return replace(seen, ready=False, reason=error.reason, message=error.message)
        except OutsideError as error:
            return replace(seen, ready=False, reason="SlurmNotAnswering", message=error.message)
        if not state.ready:
            return replace(seen, ready=False, reason=state.reason, message=state.message)
        facts = {"url": self._reach.url(ctx), "api_version": found.api, "release": found.release}
        return replace(seen, facts=facts)


def _all_there(spec: ClusterSpec, nodes: tuple[NodeRecord, ...]) -> Readiness:
    for pool in spec.pools:
        usable = sum(1 for node in nodes if node.is_usable and pool.name in node.partitions)
        if usable < ready.wanted_workers(pool):
            message = f"Slurm has {usable} of {ready.wanted_workers(pool)} usable nodes in {pool.name}."
            return Readiness(False, "NodesNotReady", message)
    return READY
