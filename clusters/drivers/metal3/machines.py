"""The machines step on BareMetalHosts: take, provision, wipe, and only then give back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.drivers.metal3 import hosts, shapes
from clusters.drivers.metal3.hosts import HOST, Host
from clusters.drivers.metal3.settings import Metal3Settings
from clusters.kube import marks
from clusters.kube.drift import differences
from clusters.kube.objects import Wanted
from clusters.kube.preview import changes
from clusters.kube.sinks import Batch, Seen
from clusters.kube.step import Clients
from clusters.provisioning.steps import Change, ClusterSpec, Difference, Observed, PoolSpec, StepContext
from portal.lib.errors import OutsideError, PermanentError, TemporaryError


@dataclass(frozen=True, slots=True)
class View:
    """The hosts of one look."""

    every: Mapping[str, Host]
    wanted: Mapping[str, PoolSpec]  # by machine
    leaving: frozenset[str]
    spec: ClusterSpec

    @property
    def ours(self) -> tuple[Host, ...]:
        """Those that the cluster holds."""
        return tuple(host for host in self.every.values() if hosts.is_ours(host, self.spec))

    @property
    def too_many(self) -> tuple[Host, ...]:
        """Those that it holds and should give back."""
        return tuple(
            host for host in self.ours if host.name not in self.wanted and host.name not in self.leaving
        )


class HostsStep:
    """A machine of the inventory is a host of the same name. Two clusters never get the same one."""

    name = shapes.STEP
    component = "Metal3"
    needs: tuple[str, ...] = ()
    deadline = dt.timedelta(minutes=90)  # a wipe and a new image take a machine this long, if all goes well

    def __init__(self, settings: Metal3Settings, clients: Clients) -> None:
        self._settings = settings
        self._clients = clients

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return tuple(
            f"machine {machine} for pool {pool.name}, with image"
            f" {shapes.image_for(pool, self._settings)['url'].rpartition('/')[2]}"
            for pool in spec.pools
            for machine in pool.machines
        )

    def observe(self, ctx: StepContext) -> Observed:
        """One list of hosts against the spec."""
        view = self._look(self._clients(ctx), ctx.spec)
        if not view.ours:
            return Observed(exists=False, facts=_facts(view))
        trouble = self._problem(view) or _failed(view.ours)
        if trouble:
            # apply raises it; what only can be removed must still be removable
            return Observed(True, reason=trouble.reason, message=trouble.message, facts=_facts(view))
        wrong = tuple(one for host in view.ours for one in self._drift(view, host))
        missing = sorted(view.wanted.keys() - {host.name for host in view.ours})
        if missing or view.too_many or wrong:
            reason, message = _differing(missing, view.too_many, wrong)
            return Observed(True, reason=reason, message=message, differences=wrong, facts=_facts(view))
        reason, message = self._awaited(view)
        return Observed(True, True, not reason, reason, message, facts=_facts(view))

    def apply(self, ctx: StepContext) -> None:
        """Take what is wanted, mend what differs, wipe what is too much and let go of what is wiped."""
        client = self._clients(ctx)
        view = self._look(client, ctx.spec)
        if trouble := self._problem(view):
            raise trouble
        for name, pool in view.wanted.items():
            host = view.every[name]
            wish = shapes.held(host, ctx.spec, pool, self._settings)
            if not hosts.is_ours(host, ctx.spec):
                # only as it was seen to be free: whoever comes second is refused
                wish = {**wish, "metadata": {**wish["metadata"], "resourceVersion": host.version}}
                client.apply(wish, HOST)
            elif self._drift(view, host):
                client.apply(wish, HOST)
        for host in view.too_many:
            self._give_back(client, host, ctx.spec)
        if failed := _failed(view.ours):
            raise failed

    def remove(self, ctx: StepContext) -> None:
        """Wipe all, and let go of those that were seen wiped."""
        client = self._clients(ctx)
        view = self._look(client, ctx.spec)
        for host in view.ours:
            self._give_back(client, host, ctx.spec)
        if failed := _failed(view.ours):
            raise failed

    def preview(self, ctx: StepContext) -> tuple[Change, ...]:
        """See Previews. A host that is taken is a change of it; one that is given back is its removal."""
        client = self._clients(ctx)
        view = self._look(client, ctx.spec)
        if trouble := self._problem(view):
            raise trouble
        held = [view.every[name] for name in view.wanted]
        wanted = tuple(self._wanted(view, host) for host in held)
        ours = {self._ref(host): host.found for host in (*held, *view.too_many)}
        return changes(
            Batch(ctx.spec, self.name, (), wanted), Seen(ours), client, system="the machines' API server"
        )

    def _look(self, client: KubeClient, spec: ClusterSpec) -> View:
        every = hosts.read_all(client, self._settings.namespace)
        wanted = {machine: pool for pool in spec.pools for machine in pool.machines}
        return View(every, wanted, frozenset(name for pool in spec.pools for name in pool.leaving), spec)

    def _give_back(self, client: KubeClient, host: Host, spec: ClusterSpec) -> None:
        if host.image or host.is_online:
            client.apply(shapes.going(host, spec, self._settings), HOST)
        elif host.wiped:
            client.apply(shapes.free(host, spec, self._settings), HOST)

    def _problem(self, view: View) -> OutsideError | None:
        """Wanted hosts that cannot be taken."""
        unknown = sorted(view.wanted.keys() - view.every.keys())
        if unknown:
            return PermanentError(
                "MachineUnknown",
                f"Metal3 has no host for {', '.join(unknown)}.",
                hint=f"Make a BareMetalHost of that name in {self._settings.namespace},"
                " or take the machine out of the inventory.",
            )
        for name in sorted(view.wanted):
            host = view.every[name]
            if not hosts.is_ours(host, view.spec) and (trouble := _not_free(host, view.spec)):
                return trouble
        return None

    def _drift(self, view: View, host: Host) -> tuple[Difference, ...]:
        """Fields that we set and others changed. Machines that leave are left as they are."""
        return differences(self._wanted(view, host), host.found) if host.name in view.wanted else ()

    def _wanted(self, view: View, host: Host) -> Wanted:
        return Wanted(HOST, shapes.held(host, view.spec, view.wanted[host.name], self._settings))

    def _ref(self, host: Host) -> Ref:
        return Ref(HOST, host.name, self._settings.namespace)

    def _awaited(self, view: View) -> tuple[str, str]:
        waits = [host for host in view.ours if host.name in view.wanted and not self._works(view, host)]
        if not waits:
            return "", ""
        if troubled := [host.trouble for host in waits if host.trouble]:
            return "MachineTrouble", f"Metal3 tries again. {'; '.join(sorted(troubled))}."
        states = sorted(f"{host.name} is {host.state or 'not looked at yet'}" for host in waits)
        return "MachinesNotReady", f"{'; '.join(states)}."

    def _works(self, view: View, host: Host) -> bool:
        url = shapes.image_on(host, view.wanted[host.name], self._settings)["url"]
        is_there = host.image_there.get("url") == url
        return host.state == "provisioned" and host.status == "OK" and is_there


def _not_free(host: Host, spec: ClusterSpec) -> OutsideError | None:
    if host.is_free and marks.CLUSTER not in host.labels:
        return None
    ref = Ref(HOST, host.name)
    if host.labels.get(marks.INSTALLATION) == spec.installation and marks.CLUSTER in host.labels:
        # a cluster that shrinks or goes may still be about to give it back
        return TemporaryError(
            "MachineTaken",
            f"The machine {host.name} still belongs to another cluster at this site.",
            hint="If it stays so: compare the allocations with the hosts' labels.",
        )
    if host.consumer or host.image or marks.CLUSTER in host.labels:
        return marks.name_taken(replace(ref, namespace=""), "the machines' API server")
    if host.is_failed:
        return _failed([host])
    return TemporaryError(
        "MachineNotFree",
        f"The machine {host.name} cannot be taken yet: {host.trouble or host.state or 'not looked at yet'}.",
    )


def _failed(found: Iterable[Host]) -> PermanentError | None:
    return hosts.failure(host for host in found if host.is_failed)


def _differing(
    missing: list[str], too_many: tuple[Host, ...], wrong: tuple[Difference, ...]
) -> tuple[str, str]:
    if missing:
        return "MachinesDiffer", f"Still to be taken: {', '.join(missing)}."
    if wrong:
        first = wrong[0]
        return "Drift", f"{first.thing}: {first.path} is {first.found}, wanted {first.wanted}."
    states = "; ".join(sorted(f"{host.name} is {host.trouble or host.state}" for host in too_many))
    return "MachinesWiping", f"Machines are wiped before they are given back. {states}."


def _facts(view: View) -> dict[str, str]:
    """Which machines, and the evidence of wipes: before this cluster had them, and after."""
    since = {host.name: host.annotations.get(shapes.CLEAN_SINCE, "") for host in view.ours}
    after = {
        host.name: host.annotations.get(shapes.WIPED_AT, "")
        for host in view.every.values()
        if host.annotations.get(shapes.WIPED_FOR) == view.spec.id
    }
    told = {
        "machines": ",".join(sorted(since)),
        "clean_since": hosts.pairs(since),
        "wiped": hosts.pairs(after),
    }
    return {name: text for name, text in told.items() if text}
