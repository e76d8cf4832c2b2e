"""Asking for more or fewer nodes: who decides, what is chosen, what is refused."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest

from clusters.models import (
    Allocation,
    Cluster,
    DesiredPools,
    Machine,
    MachineState,
    Node,
    Offering,
    Order,
    OrderKind,
    OrderState,
    Quota,
    StepState,
)
from clusters.provisioning import engine
from clusters.provisioning.plan import make_plan
from clusters.services import shrinking
from clusters.services.clusters import terminate_cluster
from clusters.services.decisions import approve_order, reject_order
from clusters.services.order_checks import PoolRequest
from clusters.services.orders import cancel_order
from clusters.services.plans import PlanChanged
from clusters.services.resize_checks import ResizeRequest
from clusters.services.resizing import submit_resize
from portal.lib.errors import BadInput, NotAllowed, WrongState
from tenants.models import AuditEvent, Role, Tenant
from tests.builders import actor_for, make_member
from tests.cases import case
from tests.clusters.builders import (
    add_machines,
    approve,
    make_cluster,
    make_flavor,
    make_site,
    operator,
    owner_of,
    resize,
    see_nodes,
)
from tests.clusters.fakes import World

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]


@pytest.fixture
def cluster(tenant: Tenant, world: World) -> Cluster:
    found = make_cluster(tenant, make_site(machines=6))
    engine.reconcile(found.pk)
    return Cluster.objects.select_related("site", "tenant").get(pk=found.pk)


def refused(cluster: Cluster, request: ResizeRequest) -> dict[str, str]:
    before = Order.objects.count()
    with pytest.raises(BadInput) as error:
        submit_resize(
            actor=actor_for(owner_of(cluster.tenant), cluster.tenant),
            cluster=cluster,
            key=uuid.uuid4(),
            request=request,
        )
    assert Order.objects.count() == before
    return error.value.fields


def machines(cluster: Cluster, stage: str = "held") -> set[str]:
    rows = Allocation.objects.filter(pool__cluster=cluster, released_at=None, stage=stage)
    return set(rows.values_list("machine__name", flat=True))


def test_growing_waits_for_an_operator_with_the_plan_in_view(cluster: Cluster) -> None:
    order = resize(cluster, train=4)
    assert (order.kind, order.state, order.price_per_hour) == (
        OrderKind.RESIZE,
        OrderState.SUBMITTED,
        Decimal("50.00"),
    )
    line = order.lines.get()
    assert (line.count_before, line.count, line.added) == (2, 4, 2)
    assert order.plan is not None
    added = {machine["name"] for machine in order.plan["pools"][0]["machines"]}
    assert len(added) == 2
    assert not added & machines(cluster)
    slurm = next(step for step in order.plan["steps"] if step["name"] == "slurm")
    assert sorted(slurm["makes"]) == sorted(f"slurm of {name}" for name in added)
    assert slurm["ends"] == []
    assert len(machines(cluster)) == 2
    assert cluster.generation == 1
    approve(order, "Enjoy.")
    cluster.refresh_from_db()
    assert cluster.generation == 2
    assert machines(cluster) >= added
    assert len(machines(cluster)) == 4
    assert cluster.pools.get().count == 4
    assert AuditEvent.objects.get(verb="order.approved", target_id=str(order.pk)).actor_kind == "operator"


def test_shrinking_is_approved_at_once_by_policy_and_audited(cluster: Cluster) -> None:
    order = resize(cluster, train=1)
    assert (order.state, order.decided_by, order.price_per_hour) == (
        OrderState.APPROVED,
        None,
        Decimal("12.50"),
    )
    assert "By policy" in order.decision_note
    assert order.plan is not None
    assert {machine["name"] for machine in order.plan["leaving"]} == machines(cluster, "leaving")
    assert order.plan_hash
    verbs = AuditEvent.objects.filter(target_id=str(order.pk)).order_by("pk")
    assert [(row.verb, row.actor_kind) for row in verbs] == [
        ("order.approved", "system"),
        ("order.submitted", "person"),
    ]
    # the machine is not free before it was wiped
    assert Machine.objects.filter(state=MachineState.FREE).count() == 4


def test_a_shrink_beside_a_growth_waits_with_it(cluster: Cluster) -> None:
    order = resize(cluster, train=1, new=2)
    assert order.state == OrderState.SUBMITTED
    assert order.plan is not None
    assert len(order.plan["leaving"]) == 1
    assert machines(cluster, "leaving") == set()
    approve(order)
    assert len(machines(cluster, "leaving")) == 1
    assert len(machines(cluster)) == 3
    assert dict(cluster.pools.values_list("name", "count")) == {"train": 1, "extra": 2}


def test_idle_machines_leave_first_whatever_they_are_called(cluster: Cluster) -> None:
    first, last = sorted(machines(cluster))
    # without a look the last one leaves; with one, the idle one
    assert [row.machine.name for row in shrinking.candidates(cluster)["train"]] == [last, first]
    see_nodes(cluster, **{last.replace("-", "_"): 4})
    resize(cluster, train=1)
    assert machines(cluster, "leaving") == {first}


def test_the_choice_at_the_approval_counts_not_that_of_the_plan(cluster: Cluster) -> None:
    first, last = sorted(machines(cluster))
    see_nodes(cluster, **{first.replace("-", "_"): 4})
    order = resize(cluster, train=1, new=1)
    see_nodes(cluster, **{last.replace("-", "_"): 4})
    approve(order)
    assert machines(cluster, "leaving") == {first}


def test_a_machine_that_does_not_work_leaves_before_an_idle_one(cluster: Cluster) -> None:
    first = min(machines(cluster))
    see_nodes(cluster)
    Node.objects.filter(name=first).update(state="DOWN", available=False)
    resize(cluster, train=1)
    assert machines(cluster, "leaving") == {first}


def test_a_node_may_be_called_otherwise_than_its_machine(cluster: Cluster) -> None:
    first, last = sorted(machines(cluster))
    see_nodes(cluster, **{last.replace("-", "_"): 4})
    Node.objects.filter(name=last).update(name="nx-1")
    StepState.objects.filter(cluster=cluster, name="slurm").update(facts={"nodes": f"nx-1={last},{first}"})
    assert [row.is_busy for row in shrinking.candidates(cluster)["train"]] == [False, True]
    resize(cluster, train=1)
    assert machines(cluster, "leaving") == {first}


def test_bounds_and_names(cluster: Cluster) -> None:
    offering = Offering.objects.get()
    assert set(refused(cluster, ResizeRequest({"train": 65}))) == {"counts.train"}
    assert set(refused(cluster, ResizeRequest({"train": -1}))) == {"counts.train"}
    assert set(refused(cluster, ResizeRequest({"gone": 1}))) == {"counts.gone"}
    assert "Nothing would change" in refused(cluster, ResizeRequest({"train": 2}))[""]
    assert "at least one node" in refused(cluster, ResizeRequest({"train": 0}))[""]
    again = ResizeRequest({}, (PoolRequest("Train", offering, 1),))
    assert "pool called train already" in refused(cluster, again)["new.0.name"]
    bad = ResizeRequest({}, (PoolRequest("x\nSchedulerType=y", offering, 0),))
    assert set(refused(cluster, bad)) == {"new.0.name", "new.0.count"}
    assert set(refused(cluster, ResizeRequest({"train": 3}, (), "x" * 2001))) == {"justification"}
    assert "6 nodes of a100-4 in all" in refused(cluster, ResizeRequest({"train": 7}))["counts.train"]


def test_what_is_no_longer_offered_can_shrink_but_not_grow(cluster: Cluster) -> None:
    Offering.objects.update(active=False)
    assert "not offered any more" in refused(cluster, ResizeRequest({"train": 3}))["counts.train"]
    assert resize(cluster, train=1).state == OrderState.APPROVED


def test_the_agreed_price_stays_for_the_life_of_a_pool(cluster: Cluster) -> None:
    Offering.objects.update(price_per_hour=Decimal("99.00"))
    order = resize(cluster, train=3, new=1)
    assert order.price_per_hour == Decimal("136.50")


def test_quota_counts_only_what_is_added(cluster: Cluster, tenant: Tenant) -> None:
    Quota.objects.create(tenant=tenant, flavor=make_flavor(), nodes=3)
    assert "left: 1" in refused(cluster, ResizeRequest({"train": 4}))["counts.train"]
    order = resize(cluster, train=1, new=2)  # three in the end
    Quota.objects.update(nodes=2)
    with pytest.raises(WrongState, match="quota allows 2"):
        approve(order)
    Quota.objects.update(nodes=3)
    assert approve(order).state == OrderState.APPROVED


def test_members_cannot_and_admins_can(cluster: Cluster, tenant: Tenant) -> None:
    with pytest.raises(NotAllowed):
        resize(cluster, by=make_member(tenant, Role.MEMBER), train=3)
    assert resize(cluster, by=make_member(tenant, Role.ADMIN), train=3).kind == OrderKind.RESIZE


def test_the_same_form_gives_the_same_order(cluster: Cluster) -> None:
    key = uuid.uuid4()
    assert resize(cluster, key=key, train=1).pk == resize(cluster, key=key, train=1).pk
    assert Order.objects.filter(kind=OrderKind.RESIZE).count() == 1


def test_one_change_at_a_time_and_the_refusal_names_the_open_one(cluster: Cluster, world: World) -> None:
    order = resize(cluster, train=3)
    with pytest.raises(WrongState, match=f"has an open order, resize of .*{str(order.pk)[:8]}"):
        resize(cluster, train=1)
    cancel_order(actor=actor_for(owner_of(cluster.tenant), cluster.tenant), order=order)
    second = resize(cluster, train=1)
    with pytest.raises(WrongState, match="under way"):
        resize(cluster, train=3)
    engine.reconcile(cluster.pk)
    with pytest.raises(WrongState, match=str(second.pk)[:8]):
        resize(cluster, train=3)
    engine.reconcile(cluster.pk)
    assert Order.objects.get(pk=second.pk).state == OrderState.FULFILLED
    assert resize(cluster, train=3).kind == OrderKind.RESIZE


def test_none_while_machines_of_the_last_one_still_leave(cluster: Cluster, world: World) -> None:
    order = resize(cluster, train=4)
    approve(order)
    cancel_order(actor=actor_for(owner_of(cluster.tenant), cluster.tenant), order=order)
    with pytest.raises(WrongState, match="still gives machines back"):
        resize(cluster, train=1)
    engine.reconcile(cluster.pk)
    engine.reconcile(cluster.pk)
    assert resize(cluster, train=1).kind == OrderKind.RESIZE


def test_not_for_what_is_not_ready_or_ends(tenant: Tenant, world: World) -> None:
    building = make_cluster(tenant, make_site(machines=6))
    with pytest.raises(WrongState, match="has an open order, new cluster"):
        resize(building, train=3)
    engine.reconcile(building.pk)
    owner = actor_for(owner_of(tenant), tenant)
    ending = terminate_cluster(actor=owner, cluster=building, typed_name=building.name)
    with pytest.raises(WrongState, match="has an open order, terminate"):
        resize(building, train=1)
    cancel_order(actor=owner, order=ending)
    assert resize(building, train=3).kind == OrderKind.RESIZE


@case("U36")
@pytest.mark.parametrize("change", ["another hash", "pools", "machine"])
def test_a_changed_plan_is_refused(cluster: Cluster, change: str) -> None:
    order = resize(cluster, train=3)
    plan_hash = order.plan_hash
    if change == "another hash":
        plan_hash = "0" * 64
    elif change == "pools":
        Allocation.objects.filter(pool__cluster=cluster).first().delete()  # type: ignore[union-attr]
    else:
        assert order.plan is not None
        Machine.objects.filter(name=order.plan["pools"][0]["machines"][0]["name"]).update(state="broken")
    with pytest.raises(PlanChanged):
        approve_order(actor=operator(), order=order, plan_hash=plan_hash)
    order.refresh_from_db()
    cluster.refresh_from_db()
    assert (order.state, cluster.generation) == (OrderState.SUBMITTED, 1)
    assert not DesiredPools.objects.filter(order=order).exists()
    make_plan(str(order.pk))
    order.refresh_from_db()
    assert approve(order).state == OrderState.APPROVED


def test_without_capacity_there_is_no_plan(cluster: Cluster) -> None:
    Machine.objects.filter(state=MachineState.FREE).update(state=MachineState.BROKEN)
    order = resize(cluster, train=3)
    assert order.plan is not None
    assert "only 0 nodes of a100-4 free; pool train needs 1" in order.plan["error"]["message"]


def test_rejecting_before_and_after_the_approval(cluster: Cluster, world: World) -> None:
    order = resize(cluster, train=3)
    reject_order(actor=operator(), order=order, note="Not this month.")
    cluster.refresh_from_db()
    assert cluster.generation == 1
    order = approve(resize(cluster, train=3))
    reject_order(actor=operator(), order=order, note="A mistake.")
    engine.reconcile(cluster.pk)
    engine.reconcile(cluster.pk)
    assert len(machines(cluster)) == 2
    assert world.calls("remove") == []
    assert Machine.objects.filter(state=MachineState.FREE).count() == 4


def test_another_flavor_in_a_new_pool(cluster: Cluster, world: World) -> None:
    offering = add_machines(cluster.site, make_flavor("h100-8", gpus=8), 2, price="30.00")
    order = submit_resize(
        actor=actor_for(owner_of(cluster.tenant), cluster.tenant),
        cluster=cluster,
        key=uuid.uuid4(),
        request=ResizeRequest({}, (PoolRequest("big", offering, 2),)),
    )
    assert order.price_per_hour == Decimal("85.00")
    make_plan(str(order.pk))
    order.refresh_from_db()
    approve(order)
    engine.reconcile(cluster.pk)
    assert Order.objects.get(pk=order.pk).state == OrderState.FULFILLED
    assert set(cluster.pools.values_list("name", "flavor__name", "count")) == {
        ("train", "a100-4", 2),
        ("big", "h100-8", 2),
    }
