"""Whole sites for tests: settings, credentials with the rights of deploy/rbac, vendors that play along."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clusters.clients.kube.models import Kind, Manifest, Ref, ref_of
from clusters.kube import kinds, marks, objects
from clusters.kube.renderers import flux
from clusters.models import Cluster, Machine, Offering, Order, Phase, Site, Stack, StepState, StepStatus
from clusters.provisioning import engine, site_facts
from clusters.provisioning.plan import make_plan
from clusters.provisioning.registry import FACTORIES, Factory
from clusters.services.orders import submit_order
from clusters.services.secrets import set_site_secret
from tenants.models import Tenant
from tests.builders import actor_for
from tests.clusters.builders import make_flavor, operator, owner_of, request_for
from tests.kube import vendor_platform
from tests.kube.server import KubeServer
from tests.kube.vendors import Controller, Hands, Vendor

PATIENCE = 150.0
# every kind that our steps make anywhere, beside the vendors' own
OWN_KINDS = (
    kinds.NAMESPACE,
    kinds.SECRET,
    kinds.CONFIG_MAP,
    kinds.SERVICE_ACCOUNT,
    kinds.CLUSTER_ROLE,
    kinds.CLUSTER_ROLE_BINDING,
    kinds.ROLE,
    kinds.ROLE_BINDING,
    kinds.CLAIM,
    kinds.POD,
    Kind("v1", "ResourceQuota", "resourcequotas"),
)


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to run a site. `spoilt` is what somebody changes by hand: the object, the change, its path."""

    name: str
    drivers: Mapping[str, str]
    settings: Mapping[str, Any]
    vendors: Callable[[], Iterable[Controller]]
    spoilt: Callable[[Cluster], tuple[Ref, Mapping[str, Any], str]]
    secrets: Mapping[str, bytes] = field(default_factory=dict)
    factories: Mapping[str, Factory] = field(default_factory=dict)
    stack: Stack = Stack.SLURM
    settled: Callable[[], bool] = lambda: True  # whether vendors have looked at what the site has


def await_vendors(profile: Profile) -> None:
    """Until the site can be ordered from."""
    end = time.monotonic() + PATIENCE
    while not profile.settled():
        assert time.monotonic() < end
        time.sleep(0.05)


def make_site(profile: Profile, machines: Iterable[str]) -> Site:
    """The site with its machines and credentials; operators are asked before drift is mended."""
    FACTORIES.update(profile.factories)
    made = Site.objects.create(
        name=profile.name,
        slug=profile.name.lower().replace(" ", "-"),
        drivers=dict(profile.drivers),
        settings={**profile.settings, "mend": "ask"},
        task_queue="tests",
    )
    flavor = make_flavor()
    Machine.objects.bulk_create(Machine(site=made, flavor=flavor, name=name) for name in machines)
    Offering.objects.create(site=made, flavor=flavor, price_per_hour="1.00")
    for name, value in profile.secrets.items():
        set_site_secret(actor=operator(), site=made, name=name, value=value)
    site_facts.learn(str(made.pk))
    return Site.objects.get(pk=made.pk)


def order_at(site: Site, tenant: Tenant, stack: Stack, *, name: str = "gpu-a", nodes: int = 2) -> Order:
    """A submitted order of two nodes or so, with its plan."""
    request = replace(request_for(site, name=name, nodes=nodes), stack=stack)
    order = submit_order(actor=actor_for(owner_of(tenant), tenant), key=uuid.uuid4(), request=request)
    make_plan(str(order.pk))
    order.refresh_from_db()
    return order


def reach(
    cluster: Cluster, phase: Phase, *, reconcile: Callable[[uuid.UUID], None] = engine.reconcile
) -> Cluster:
    """Passes, as the beat would make them, until the cluster is where it should be; a stall fails at once."""
    end = time.monotonic() + PATIENCE
    while True:
        reconcile(cluster.pk)
        row = Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)
        current = row.observed_generation == row.generation
        if row.phase == phase and (phase != Phase.READY or current):
            return row
        states = list(
            StepState.objects.filter(cluster=cluster).values_list("name", "status", "reason", "message")
        )
        assert not [state for state in states if state[1] == StepStatus.STALLED], states
        assert time.monotonic() < end, (row.phase, states)
        time.sleep(0.05)


def left_over(server: KubeServer, cluster: Cluster) -> list[str]:
    """Everything on the server that bears the cluster's mark, of every kind."""
    mark = {marks.CLUSTER: str(cluster.pk)}
    return sorted(
        str(ref_of(found, kind))
        for kind in (*OWN_KINDS, *vendors_kinds(server))
        for found in server.client.list(kind, labels=mark)
    )


def see_nothing_left(server: KubeServer, cluster: Cluster) -> None:
    """What goes with the tenant's own API server goes a moment after it, as TenantsPart hears of it."""
    end = time.monotonic() + PATIENCE
    while left := left_over(server, cluster):
        assert time.monotonic() < end, left
        time.sleep(0.05)


def vendors_kinds(server: KubeServer) -> list[Kind]:
    """Every kind of a CRD."""
    found = []
    for crd in server.client.list(kinds.CRD):
        spec = crd["spec"]
        version = next(one["name"] for one in spec["versions"] if one["storage"])
        names, scoped = spec["names"], spec["scope"] == "Namespaced"
        found.append(Kind(f"{spec['group']}/{version}", names["kind"], names["plural"], scoped))
    return found


class TenantsPart:
    """What a tenant's own API server takes along when it goes; here it is part of the session's server."""

    def __init__(self, owner: Kind) -> None:
        self._owner = owner
        self._seen: dict[str, str] = {}

    def look(self, hands: Hands) -> None:
        """One round: forget clusters whose control plane is gone."""
        there = {
            str(one["metadata"]["uid"]): str(one["metadata"]["labels"][marks.CLUSTER])
            for one in hands.client.list(self._owner, labels={marks.STEP: "control-plane"})
        }
        self._seen |= there
        for uid in set(self._seen) - set(there):
            mark = {marks.CLUSTER: self._seen[uid]}
            for kind in (kinds.CLUSTER_ROLE_BINDING, kinds.ROLE_BINDING, kinds.SECRET, kinds.SERVICE_ACCOUNT):
                self._release(hands, kind, mark)
            self._release(hands, kinds.CLUSTER_ROLE, mark)
            self._release(hands, kinds.NAMESPACE, mark)
            del self._seen[uid]

    def _release(self, hands: Hands, kind: Kind, mark: Mapping[str, str]) -> None:
        for found in hands.client.list(kind, labels=mark):
            hands.release(ref_of(found, kind))


def exporting(server: KubeServer, kind: Kind = flux.RELEASE) -> Vendor:
    """vCluster: a release of its chart exports a kubeconfig for the portal."""
    content = vendor_platform.kubeconfig(server.admin).encode()

    def children(found: Manifest) -> list[tuple[Kind, Manifest]]:
        spec = found["spec"]
        if kind == flux.RELEASE:
            where, values = spec["targetNamespace"], spec.get("values") or {}
        else:
            where, values = spec["destination"]["namespace"], spec["source"]["helm"]["valuesObject"]
        wanted = (values.get("exportKubeConfig") or {}).get("additionalSecrets") or ()
        return [
            (
                kinds.SECRET,
                objects.secret(one["name"], {"config": content}, namespace=where).manifest,
            )
            for one in wanted
        ]

    return Vendor(kind, children=children)


def nodes_ready(server: KubeServer, names: Iterable[str]) -> None:
    """Machines have joined the tenant's cluster."""
    for name in names:
        made = objects.manifest(kinds.NODE, name, {})
        server.client.apply(made, kinds.NODE)
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
        then = "2026-01-01T00:00:00Z"
        both = {**ready, "lastHeartbeatTime": then, "lastTransitionTime": then}
        Hands(server.client).write_status(Ref(kinds.NODE, name), {"conditions": [both]}, "status")
