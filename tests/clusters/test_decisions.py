"""Approving and rejecting: plan, self-approval, replay, taking back."""

from __future__ import annotations

import pytest
from django.db.models import F

from clusters.models import (
    Allocation,
    Cluster,
    Flavor,
    IdentityKind,
    Machine,
    MachineState,
    Order,
    OrderState,
    Quota,
    Site,
    SlurmIdentity,
)
from clusters.provisioning import engine
from clusters.provisioning.plan import make_plan
from clusters.services.decisions import approve_order, reject_order
from clusters.services.orders import cancel_order
from clusters.services.plans import PlanChanged
from portal.lib.crypto import unseal
from portal.lib.errors import BadInput, NotAllowed, WrongState
from tenants.models import AuditEvent, Membership, Role, Tenant
from tests.builders import actor_for, make_member
from tests.cases import case
from tests.clusters.builders import approved_order, make_cluster, make_order, make_site, operator, owner_of
from tests.clusters.fakes import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("world")]


@pytest.fixture
def order(tenant: Tenant, world: World) -> Order:
    return make_order(tenant, make_site())


def nothing_happened(order: Order, state: OrderState = OrderState.SUBMITTED) -> bool:
    order.refresh_from_db()
    return (
        order.state == state
        and not Cluster.objects.exists()
        and not Allocation.objects.exists()
        and not Machine.objects.exclude(state=MachineState.FREE).exists()
        and not AuditEvent.objects.filter(verb="order.approved").exists()
    )


def test_approval_makes_everything_in_one_go(order: Order, tenant: Tenant) -> None:
    make_member(tenant, Role.MEMBER)
    make_member(tenant, Role.VIEWER)
    assert order.plan is not None
    planned = {machine["name"] for machine in order.plan["pools"][0]["machines"]}
    approve_order(actor=operator(), order=order, plan_hash=order.plan_hash, note="Go ahead.")
    order.refresh_from_db()
    cluster = order.cluster
    assert cluster is not None
    assert (order.state, order.decision_note, cluster.pk) == (
        "approved",
        "Go ahead.",
        order.future_cluster_id,
    )
    taken = Machine.objects.filter(allocations__pool__cluster=cluster)
    assert {machine.name for machine in taken} == planned
    assert {machine.state for machine in taken} == {MachineState.IN_USE}
    pool = cluster.pools.get()
    assert (pool.name, pool.count, str(pool.price_per_hour)) == ("train", 2, "12.50")
    identities = SlurmIdentity.objects.filter(cluster=cluster)
    kinds = sorted(identities.values_list("kind", flat=True))
    assert kinds == [IdentityKind.MEMBER, IdentityKind.MEMBER, IdentityKind.OBSERVER]  # no viewer
    assert len({identity.uid for identity in identities} | {cluster.gid}) == 4
    assert len(unseal(bytes(cluster.slurm.sealed_jwt_key))) == 64
    assert cluster.next_reconcile_at is not None
    event = AuditEvent.objects.get(verb="order.approved")
    assert (event.actor_kind, event.tenant, event.detail["plan"]) == ("operator", tenant, order.plan_hash)


@case("U36")
@pytest.mark.parametrize("role", [Role.OWNER, Role.VIEWER])
def test_nobody_decides_for_a_tenant_of_which_they_are_a_member(
    order: Order, tenant: Tenant, role: Role
) -> None:
    actor = operator()
    assert actor.user is not None
    make_member(tenant, role, user=actor.user)
    with pytest.raises(NotAllowed, match="member of Aurora Lab"):
        approve_order(actor=actor, order=order, plan_hash=order.plan_hash)
    with pytest.raises(NotAllowed):
        reject_order(actor=actor, order=order, note="No.")
    assert nothing_happened(order)
    Membership.objects.filter(user=actor.user).update(ended_at=F("created_at"))
    assert approve_order(actor=actor, order=order, plan_hash=order.plan_hash).cluster is not None


def test_only_operators_decide(order: Order, tenant: Tenant) -> None:
    with pytest.raises(NotAllowed):
        approve_order(actor=actor_for(owner_of(tenant), tenant), order=order, plan_hash=order.plan_hash)
    assert nothing_happened(order)


@case("U36")
def test_a_decision_cannot_be_replayed(order: Order) -> None:
    stale = Order.objects.get(pk=order.pk)
    approve_order(actor=operator(), order=order, plan_hash=order.plan_hash)
    for _ in range(2):
        with pytest.raises(WrongState, match="approved, under way"):
            approve_order(actor=operator(), order=stale, plan_hash=stale.plan_hash)
    assert Cluster.objects.count() == 1
    assert AuditEvent.objects.filter(verb="order.approved").count() == 1


@case("U36")
def test_a_cancelled_order_cannot_be_approved(order: Order, tenant: Tenant) -> None:
    stale = Order.objects.get(pk=order.pk)
    cancel_order(actor=actor_for(owner_of(tenant), tenant), order=order)
    with pytest.raises(WrongState, match="cancelled"):
        approve_order(actor=operator(), order=stale, plan_hash=stale.plan_hash)
    assert nothing_happened(order, OrderState.CANCELLED)


@case("U36")
@pytest.mark.parametrize("change", ["another hash", "no hash", "site", "flavor", "line"])
def test_a_changed_plan_is_refused(order: Order, change: str) -> None:
    plan_hash = order.plan_hash
    if change.endswith("hash"):
        plan_hash = {"another hash": "0" * 64, "no hash": ""}[change]
    elif change == "site":
        Site.objects.update(settings={"room": "2"})
    elif change == "flavor":
        Flavor.objects.update(cpus=8)
    else:
        order.lines.update(count=1)
    with pytest.raises(PlanChanged):
        approve_order(actor=operator(), order=Order.objects.get(pk=order.pk), plan_hash=plan_hash)
    assert nothing_happened(order)
    make_plan(str(order.pk))
    order = Order.objects.get(pk=order.pk)
    assert approve_order(actor=operator(), order=order, plan_hash=order.plan_hash).cluster is not None


@case("U36")
def test_machines_taken_meanwhile_are_a_changed_plan(order: Order, tenant: Tenant) -> None:
    assert order.plan is not None
    name = order.plan["pools"][0]["machines"][0]["name"]
    Machine.objects.filter(name=name).update(state=MachineState.BROKEN)
    with pytest.raises(PlanChanged, match="1 of its 2 machines"):
        approve_order(actor=operator(), order=order, plan_hash=order.plan_hash)
    Machine.objects.filter(name=name).update(state=MachineState.FREE)
    assert nothing_happened(order)


def test_plans_of_waiting_orders_avoid_each_others_machines(order: Order, tenant: Tenant) -> None:
    second = make_order(tenant, order.site, name="gpu-b")
    for each in (second, order):
        approve_order(actor=operator(), order=each, plan_hash=each.plan_hash)
    assert Allocation.objects.filter(released_at=None).count() == 4


def test_without_capacity_there_is_no_plan_and_no_approval(order: Order, tenant: Tenant) -> None:
    approve_order(actor=operator(), order=order, plan_hash=order.plan_hash)
    late = make_order(tenant, order.site, name="gpu-c", nodes=3)
    assert late.plan_hash == ""
    assert late.plan is not None
    assert late.plan["error"]["reason"] == "NoCapacity"
    with pytest.raises(PlanChanged):
        approve_order(actor=operator(), order=late, plan_hash="")


def test_quota_is_looked_at_again(order: Order, tenant: Tenant) -> None:
    Quota.objects.create(tenant=tenant, flavor=order.lines.get().flavor, nodes=1)
    with pytest.raises(WrongState, match="quota allows 1"):
        approve_order(actor=operator(), order=order, plan_hash=order.plan_hash)
    assert nothing_happened(order)


def test_a_name_that_was_taken_meanwhile(order: Order, tenant: Tenant) -> None:
    other = make_cluster(tenant, order.site, name="gpu-b", nodes=1)
    Cluster.objects.filter(pk=other.pk).update(name=order.cluster_name)
    with pytest.raises(WrongState, match="taken a moment ago"):
        approve_order(actor=operator(), order=order, plan_hash=order.plan_hash)
    assert Order.objects.get(pk=order.pk).state == OrderState.SUBMITTED


def test_rejecting_needs_a_reason(order: Order) -> None:
    with pytest.raises(BadInput):
        reject_order(actor=operator(), order=order, note="  ")
    with pytest.raises(BadInput):
        reject_order(actor=operator(), order=order, note="x" * 2001)
    reject_order(actor=operator(), order=order, note="Ask for fewer nodes.")
    order.refresh_from_db()
    assert (order.state, order.decision_note) == (OrderState.REJECTED, "Ask for fewer nodes.")


@case("U36")
def test_rejecting_half_way_takes_back_what_was_built(tenant: Tenant, world: World) -> None:
    order = approved_order(tenant, make_site())
    Order.objects.filter(pk=order.pk).update(justification="For the paper.")
    world.set("slurm", slow=1000)
    engine.reconcile(order.cluster_id)  # type: ignore[arg-type]
    assert world.things() != []
    order = Order.objects.get(pk=order.pk)
    reject_order(actor=operator(), order=order, note="The budget was withdrawn.")
    engine.reconcile(order.cluster_id)  # type: ignore[arg-type]
    order.refresh_from_db()
    assert (order.state, order.justification) == (OrderState.REJECTED, "For the paper.")
    assert world.things() == []
    assert not Machine.objects.exclude(state=MachineState.FREE).exists()


@case("U36")
def test_it_is_too_late_to_reject_what_is_ready(tenant: Tenant, world: World) -> None:
    order = approved_order(tenant, make_site())
    engine.reconcile(order.cluster_id)  # type: ignore[arg-type]
    with pytest.raises(WrongState, match="fulfilled"):
        reject_order(actor=operator(), order=Order.objects.get(pk=order.pk), note="Too late.")
    assert len(world.things()) == 5
