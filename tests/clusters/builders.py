"""Builders of sites, catalogue, orders and clusters."""

from __future__ import annotations

import uuid
from dataclasses import replace
from decimal import Decimal

from django.conf import settings

from clusters import demo
from clusters.models import (
    Allocation,
    Cluster,
    Flavor,
    Machine,
    Node,
    Offering,
    Order,
    OrderState,
    Phase,
    Site,
)
from clusters.provisioning.plan import make_plan
from clusters.provisioning.registry import FACTORIES
from clusters.services.decisions import approve_order
from clusters.services.order_checks import OrderRequest, PoolRequest
from clusters.services.orders import submit_order
from clusters.services.resize_checks import ResizeRequest
from clusters.services.resizing import submit_resize
from portal.lib import clock
from tenants.actor import Actor
from tenants.models import Role, Tenant, User
from tests.builders import actor_for, make_member, make_operator
from tests.clusters import fakes


def make_flavor(name: str = "a100-4", *, gpus: int = 4, cpus: int = 16, memory_mib: int = 65536) -> Flavor:
    """A kind of node; one per name."""
    made, _ = Flavor.objects.get_or_create(
        name=name,
        defaults={
            "gpu_model": "NVIDIA A100" if gpus else "",
            "gpu_type": "a100" if gpus else "",
            "gpu_count": gpus,
            "cpus": cpus,
            "memory_mib": memory_mib,
        },
    )
    return made


def make_site(
    name: str = "Site North",
    *,
    machines: int = 4,
    flavor: Flavor | None = None,
    driver: str | None = None,
    price: str = "12.50",
) -> Site:
    """A site with machines of one flavor that are offered; served by the fake driver if it is installed."""
    driver = driver or (fakes.DRIVER if fakes.DRIVER in FACTORIES else "local")
    slug = name.lower().replace(" ", "-")
    site = Site.objects.create(
        name=name,
        slug=slug,
        drivers=_local_drivers() if driver == "local" else {"machines": driver, "slurm": driver},
        task_queue="tests",
    )
    add_machines(site, flavor or make_flavor(), machines, price=price)
    return site


def _local_drivers() -> dict[str, str]:
    """Of the demo, without control planes: tests of those ask for one."""
    return {concern: name for concern, name in demo.DRIVERS.items() if concern != "control_plane"}


def add_machines(site: Site, flavor: Flavor, count: int, *, price: str = "12.50") -> Offering:
    """More machines at a site, and the offering of their flavor."""
    Machine.objects.bulk_create(
        Machine(site=site, flavor=flavor, name=f"{site.slug}-{flavor.name}-{number:02}")
        for number in range(1, count + 1)
    )
    offering, _ = Offering.objects.get_or_create(
        site=site, flavor=flavor, defaults={"price_per_hour": Decimal(price)}
    )
    return offering


def request_for(site: Site, *, name: str = "gpu-a", nodes: int = 2, pool: str = "train") -> OrderRequest:
    """A request for one pool of the site's first offering."""
    offering = Offering.objects.select_related("site", "flavor").filter(site=site).order_by("flavor__name")[0]
    return OrderRequest(site=site, name=name, pools=(PoolRequest(pool, offering, nodes),))


def owner_of(tenant: Tenant) -> User:
    """The tenant's owner, made if there is none."""
    found = tenant.memberships.filter(role=Role.OWNER, ended_at=None).first()
    return found.user if found else make_member(tenant, Role.OWNER)


def make_order(
    tenant: Tenant,
    site: Site | None = None,
    *,
    name: str = "gpu-a",
    nodes: int = 2,
    planned: bool = True,
    by: User | None = None,
) -> Order:
    """A submitted order, with its plan unless told otherwise."""
    site = site or Site.objects.first() or make_site()
    actor = actor_for(by or owner_of(tenant), tenant)
    order = submit_order(actor=actor, key=uuid.uuid4(), request=request_for(site, name=name, nodes=nodes))
    if planned:
        make_plan(str(order.pk))
        order.refresh_from_db()
    return order


def approved_order(tenant: Tenant, site: Site | None = None, *, name: str = "gpu-a", nodes: int = 2) -> Order:
    """An order that an operator approved; its cluster is not built yet."""
    order = make_order(tenant, site, name=name, nodes=nodes)
    return approve_order(actor=operator(), order=order, plan_hash=order.plan_hash, note="Fine.")


def make_cluster(
    tenant: Tenant,
    site: Site | None = None,
    *,
    name: str = "gpu-a",
    nodes: int = 2,
    phase: Phase = Phase.PENDING,
) -> Cluster:
    """A cluster from an approved order; READY writes what the engine writes when it saw it ready."""
    order = approved_order(tenant, site, name=name, nodes=nodes)
    assert order.cluster is not None
    cluster = order.cluster
    if phase == Phase.READY:
        now = clock.now()
        Cluster.objects.filter(pk=cluster.pk).update(phase=phase, ready_at=now, observed_generation=1)
        Order.objects.filter(pk=order.pk).update(state=OrderState.FULFILLED, ended_at=now)
        cluster.slurm.url = "http://127.0.0.1:9"
        cluster.slurm.api_version, cluster.slurm.release = "v0.0.38", "22.05.8"
        cluster.slurm.save()
    elif phase != Phase.PENDING:
        Cluster.objects.filter(pk=cluster.pk).update(phase=phase)
    return Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)


def operator() -> Actor:
    """An operator's actor, as in the operators' area; the same person within a test."""
    issuer, subject = settings.OPERATORS[0]
    known = User.objects.filter(identities__issuer=issuer, identities__subject=subject).first()
    return replace(actor_for(known or make_operator()), via="admin")


def resize(
    cluster: Cluster, *, by: User | None = None, key: uuid.UUID | None = None, new: int = 0, **counts: int
) -> Order:
    """A submitted resize with its plan: `train=3` nodes, and a new pool "extra" of so many nodes."""
    offering = Offering.objects.filter(site=cluster.site).order_by("flavor__name")[0]
    order = submit_resize(
        actor=actor_for(by or owner_of(cluster.tenant), cluster.tenant),
        cluster=cluster,
        key=key or uuid.uuid4(),
        request=ResizeRequest(counts, (PoolRequest("extra", offering, new),) if new else ()),
    )
    make_plan(str(order.pk))
    order.refresh_from_db()
    return order


def approve(order: Order, note: str = "") -> Order:
    """Approved by an operator, as the plan is now."""
    return approve_order(actor=operator(), order=order, plan_hash=order.plan_hash, note=note)


def see_nodes(cluster: Cluster, **cpus_used: int) -> None:
    """Write the cluster's nodes as the observer would: one per machine, busy as told (dashes as _)."""
    Node.objects.filter(cluster=cluster).delete()
    rows = Allocation.objects.filter(pool__cluster=cluster, released_at=None).select_related(
        "machine", "pool"
    )
    for row in rows:
        used = cpus_used.get(row.machine.name.replace("-", "_"), 0)
        Node.objects.create(
            cluster=cluster,
            name=row.machine.name,
            partitions=[row.pool.name],
            state="MIXED" if used else "IDLE",
            available=True,
            cpus=16,
            cpus_used=used,
            observed_at=clock.now(),
        )
