"""The machines step on HostClaims, for sites whose hosts the portal may read but not change."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from clusters.clients.kube.models import Manifest, Ref
from clusters.drivers.metal3 import hosts, shapes
from clusters.drivers.metal3.hosts import CLAIM, Host
from clusters.drivers.metal3.settings import Metal3Settings
from clusters.kube import marks
from clusters.kube.objects import READY, Readiness, Wanted, condition_of, is_current
from clusters.kube.sinks import Scope, deleting
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import Change, ClusterSpec, Observed, PoolSpec, StepContext
from portal.lib.errors import PermanentError

# what the reasons of a claim's conditions mean; Metal3's own messages may name what nobody should read
REASONS = {
    "NoBareMetalHost": "no free host bears its label",
    "MissingBareMetalHost": "its host is gone",
    "BadBareMetalHostStatus": "its host's status cannot be read",
    "HostPaused": "its host is paused",
    "UserDataSecretSyncFailure": "its user data cannot be read",
    "MetaDataSecretSyncFailure": "its meta data cannot be read",
    "NetworkDataSecretSyncFailure": "its network data cannot be read",
    "BareMetalHostNotSynchronized": "its host could not be changed",
}


class ClaimsStep:
    """One claim per machine; each names its host by a label. Gone when the wipe of each host was seen."""

    name = shapes.STEP
    component = "Metal3"
    needs: tuple[str, ...] = ()
    deadline = dt.timedelta(minutes=90)

    def __init__(self, settings: Metal3Settings, clients: Clients) -> None:
        self._settings = settings
        self._clients = clients

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return tuple(
            f"host claim {shapes.claim_name(spec, machine)} on machine {machine} for pool {pool.name}"
            for pool in spec.pools
            for machine in pool.machines
        )

    def observe(self, ctx: StepContext) -> Observed:
        """Claims and their hosts against the spec: two lists."""
        by_machine = self._hosts(ctx)
        seen = self._claims(by_machine).observe(ctx)
        if not seen.exists:
            return replace(seen, facts=_clean(by_machine, ctx.spec))
        if failed := self._failed(by_machine, ctx.spec):
            return replace(seen, in_sync=False, ready=False, reason=failed.reason, message=failed.message)
        if seen.reason == "Finalizer" and (wiping := seen.facts.get("wiping")):
            message = f"Machines are wiped before they are given back. {wiping}."
            return replace(seen, reason="MachinesWiping", message=message)
        return seen

    def apply(self, ctx: StepContext) -> None:
        """See Step."""
        by_machine = self._hosts(ctx)
        self._claims(by_machine).apply(ctx)
        self._finish(by_machine, ctx)

    def remove(self, ctx: StepContext) -> None:
        """See Step."""
        by_machine = self._hosts(ctx)
        self._claims(by_machine).remove(ctx)
        self._finish(by_machine, ctx)

    def preview(self, ctx: StepContext) -> tuple[Change, ...]:
        """See Previews."""
        return self._claims(self._hosts(ctx)).preview(ctx)

    def _claims(self, by_machine: Mapping[str, Host]) -> _Claims:
        return _Claims(self._settings, self._clients, by_machine)

    def _hosts(self, ctx: StepContext) -> dict[str, Host]:
        """By the machine that the site's label names."""
        found = hosts.read_all(self._clients(ctx), self._settings.namespace)
        label = self._settings.host_label
        return {host.labels[label]: host for host in found.values() if label in host.labels}

    def _held(self, by_machine: Mapping[str, Host], spec: ClusterSpec) -> list[Host]:
        """Hosts that say that a claim of ours holds them."""
        return [host for name, host in by_machine.items() if self._holds(host, name, spec)]

    def _holds(self, host: Host, machine: str, spec: ClusterSpec) -> bool:
        by = host.consumer
        names = (by.get("kind"), by.get("namespace"), by.get("name"))
        return names == (CLAIM.kind, self._settings.claim_namespace, shapes.claim_name(spec, machine))

    def _is_over(self, host: Host, machine: str, spec: ClusterSpec) -> bool:
        return bool(host.wiped or host.consumer) and not self._holds(host, machine, spec)

    def _finish(self, by_machine: Mapping[str, Host], ctx: StepContext) -> None:
        """Take our finalizer from claims that are going and whose host was seen wiped, and is nobody's."""
        client = self._clients(ctx)
        labels = marks.labels(ctx.spec, self.name)
        for found in client.list(CLAIM, namespace=self._settings.claim_namespace, labels=labels):
            others = [one for one in found["metadata"].get("finalizers") or () if one != shapes.WIPED]
            if not deleting(found) or others:
                continue  # Metal3 itself still holds it
            machine = _machine_of(found)
            host = by_machine.get(machine)
            # whoever else has it by now can only have got it after its wipe
            if host is None or self._is_over(host, machine, ctx.spec):
                client.apply(_released(found), CLAIM)
        if failed := self._failed(by_machine, ctx.spec):
            raise failed

    def _failed(self, by_machine: Mapping[str, Host], spec: ClusterSpec) -> PermanentError | None:
        """Hosts of ours that only a person can help."""
        return hosts.failure(host for host in self._held(by_machine, spec) if host.is_failed)


class _Claims(ObjectsStep):
    """The claims of one pass, which looked at the hosts before."""

    name = shapes.STEP
    component = "Metal3"
    system = "the machines' API server"

    def __init__(self, settings: Metal3Settings, clients: Clients, by_machine: Mapping[str, Host]) -> None:
        super().__init__(clients)
        self._settings = settings
        self._by_machine = by_machine

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:  # noqa: ARG002  # the same for every cluster
        """Claims of the site's one namespace."""
        return (Scope(CLAIM, self._settings.claim_namespace),)

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """A claim for each machine; those on machines that leave stay until the machines are taken away."""
        return tuple(
            self._wanted(machine, ctx.spec, pool)
            for pool in ctx.spec.pools
            for machine in (*pool.machines, *pool.leaving)
        )

    def facts(self, ctx: StepContext, found: Mapping[Ref, Manifest]) -> Mapping[str, str]:  # noqa: ARG002
        """Which machines, when each was wiped before, and which are wiped now."""
        by_machine = {_machine_of(one): one for one in found.values()}
        since = {
            name: (one["metadata"].get("annotations") or {}).get(shapes.CLEAN_SINCE, "")
            for name, one in by_machine.items()
        }
        held = [self._by_machine.get(name) for name, one in by_machine.items() if deleting(one)]
        going = [host for host in held if host is not None]
        states = (f"{host.name} is {host.trouble or host.state}" for host in going if not host.wiped)
        told = {
            "machines": ",".join(sorted(by_machine)),
            "clean_since": hosts.pairs(since),
            "wiped": hosts.pairs({host.name: host.wiped for host in going}),
            "wiping": "; ".join(sorted(states)),
        }
        return {name: text for name, text in told.items() if text}

    def _wanted(self, machine: str, spec: ClusterSpec, pool: PoolSpec) -> Wanted:
        host = self._by_machine.get(machine)

        def ready(found: Manifest) -> Readiness:
            return _associated(found, machine) or _provisioned(host, found, machine)

        return Wanted(CLAIM, shapes.claim(machine, host, spec, pool, self._settings), ready=ready)


def _clean(by_machine: Mapping[str, Host], spec: ClusterSpec) -> Mapping[str, str]:
    """The evidence that stays when the claims are gone."""
    wiped = {
        machine: by_machine[machine].wiped
        for pool in spec.pools
        for machine in (*pool.machines, *pool.leaving)
        if machine in by_machine and not by_machine[machine].consumer
    }
    text = hosts.pairs(wiped)
    return {"wiped": text} if text else {}


def _machine_of(found: Manifest) -> str:
    return str((found["metadata"].get("labels") or {}).get(shapes.MACHINE, ""))


def _released(found: Manifest) -> Manifest:
    """The claim as it is, without our finalizer; it is ours, so nothing else of it may change."""
    meta = found["metadata"]
    kept = {name: meta[name] for name in ("name", "namespace", "uid", "labels") if name in meta}
    return {"apiVersion": found["apiVersion"], "kind": found["kind"], "metadata": kept, "spec": found["spec"]}


def _associated(found: Manifest, machine: str) -> Readiness | None:
    """What a claim still waits for, by its conditions."""
    for kind in ("Associated", "Synchronized"):
        condition = condition_of(found, kind)
        if condition is None or not is_current(found, condition):
            return Readiness(False, "MachinesNotReady", f"The claim on {machine} was not looked at yet.")
        if condition.get("status") != "True":
            reason = str(condition.get("reason") or "")
            why = REASONS.get(reason, "Metal3 has not taken it up")
            return Readiness(False, reason or "MachinesNotReady", f"The claim on {machine} waits: {why}.")
    return None


def _provisioned(host: Host | None, found: Manifest, machine: str) -> Readiness:
    """Whether the host that carries the claim has the claim's image."""
    if host is None or host.consumer.get("name") != found["metadata"]["name"]:
        return Readiness(False, "MachinesNotReady", f"{machine} does not bear the claim yet.")
    url = ((found.get("spec") or {}).get("image") or {}).get("url")
    if host.state == "provisioned" and host.status == "OK" and host.image_there.get("url") == url:
        return READY
    what = host.trouble or f"{machine} is {host.state or 'not looked at yet'}"
    return Readiness(False, "MachinesNotReady", f"{what}.")
