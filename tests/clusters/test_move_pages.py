"""Every move of the table, made by whoever makes it: its page shows it, and every other move is refused."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterator

import pytest
import time_machine
from django.test import Client

from clusters import tasks
from clusters.models import Cluster, Order, OrderKind, OrderState
from clusters.provisioning import engine
from clusters.services.clusters import give_up, terminate_cluster
from clusters.services.decisions import approve_order, reject_order
from clusters.services.moves import ALLOWED
from clusters.services.orders import cancel_order
from portal.lib import clock
from portal.lib.errors import WrongState
from tenants.models import AuditEvent, Tenant
from tests.builders import actor_for, make_tenant, sign_in
from tests.cases import case
from tests.clusters.builders import (
    approved_order,
    make_cluster,
    make_order,
    make_site,
    operator,
    owner_of,
    resize,
)
from tests.clusters.fakes import World

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
S = OrderState
KINDS = (OrderKind.CREATE, OrderKind.RESIZE, OrderKind.TERMINATE)  # renewals come later
# what the order's page says after a move
SHOWN = {
    (OrderKind.CREATE, S.SUBMITTED): "Waiting for approval",
    (OrderKind.CREATE, S.APPROVED): "Being built",
    (OrderKind.CREATE, S.FULFILLED): "Fulfilled",
    (OrderKind.RESIZE, S.SUBMITTED): "Waiting for approval",
    (OrderKind.RESIZE, S.APPROVED): "Being changed",
    (OrderKind.RESIZE, S.FULFILLED): "As ordered",
    (OrderKind.TERMINATE, S.APPROVED): "Scheduled",
    (OrderKind.TERMINATE, S.FULFILLED): "Removed",
    (OrderKind.TERMINATE, S.CANCELLED): "Called off",
    **{(kind, S.REJECTED): "Rejected" for kind in KINDS},
    **{(kind, S.CANCELLED): "Cancelled" for kind in KINDS[:2]},
    **{(kind, S.FAILED): "Given up" for kind in KINDS},
}


class Scene:
    """One tenant, one order, and whoever may do something to it."""

    def __init__(self) -> None:
        self.tenant: Tenant = make_tenant()
        self.owner = actor_for(owner_of(self.tenant), self.tenant)
        self.site = make_site(machines=6)

    def order(self, kind: OrderKind, state: OrderState) -> Order:
        """An order of this kind, brought to this state by the services themselves."""
        made = getattr(self, f"_{kind.value}")(state)
        made.refresh_from_db()
        return Order.objects.get(pk=made.pk)

    def _create(self, state: OrderState) -> Order:
        order = make_order(self.tenant, self.site) if state != S.APPROVED else None
        order = order or approved_order(self.tenant, self.site)
        return self._end(order, state)

    def _resize(self, state: OrderState) -> Order:
        order = resize(self._ready(), train=3)
        if state == S.APPROVED:
            return act("approve", self, order)
        return self._end(order, state)

    def _terminate(self, state: OrderState) -> Order:
        ready = self._ready()
        order = terminate_cluster(actor=self.owner, cluster=ready, typed_name=ready.name)
        return self._end(order, state)

    def _ready(self) -> Cluster:
        found = make_cluster(self.tenant, self.site)
        engine.reconcile(found.pk)
        return Cluster.objects.get(pk=found.pk)

    def _end(self, order: Order, state: OrderState) -> Order:
        if state == S.FULFILLED:
            if order.state == S.SUBMITTED:
                act("approve", self, order)
            act("fulfil", self, order)
        elif state == S.CANCELLED:
            act("cancel", self, order)
        elif state == S.REJECTED:
            act("reject", self, order)
        elif state == S.FAILED:
            act("approve", self, order)
            act("give up", self, order)
        return order


def approve(scene: Scene, order: Order) -> None:
    approve_order(actor=operator(), order=order, plan_hash=order.plan_hash)


def reject(scene: Scene, order: Order) -> None:
    reject_order(actor=operator(), order=order, note="No.")


def cancel(scene: Scene, order: Order) -> None:
    cancel_order(actor=scene.owner, order=order)


def give_it_up(scene: Scene, order: Order) -> None:
    if order.cluster is None:
        raise WrongState("There is nothing to give up.")
    give_up(actor=operator(), cluster=order.cluster, note="Broken.")


def fulfil(scene: Scene, order: Order) -> None:
    """What the engine does when it sees what the order asks for."""
    if order.cluster_id is None:
        return
    with time_machine.travel(clock.now() + dt.timedelta(hours=25)):
        tasks.reconcile_due()
        for _ in range(2):
            engine.reconcile(order.cluster_id)


ACTS: dict[str, tuple[OrderState, Callable[[Scene, Order], None]]] = {
    "approve": (S.APPROVED, approve),
    "reject": (S.REJECTED, reject),
    "cancel": (S.CANCELLED, cancel),
    "give up": (S.FAILED, give_it_up),
    "fulfil": (S.FULFILLED, fulfil),
}


def act(name: str, scene: Scene, order: Order) -> Order:
    ACTS[name][1](scene, Order.objects.get(pk=order.pk))
    return Order.objects.get(pk=order.pk)


def reachable(kind: OrderKind) -> list[OrderState]:
    """States in which an order of this kind can be met."""
    found = {target for targets in ALLOWED[kind].values() for target in targets}
    if kind == OrderKind.TERMINATE:
        found.discard(S.SUBMITTED)  # approved in the same transaction
    return sorted(found)


def matrix() -> Iterator[tuple[OrderKind, OrderState, str]]:
    for kind in KINDS:
        for state, name in itertools.product(reachable(kind), ACTS):
            yield kind, state, name


@case("U36", "U38")
@pytest.mark.parametrize(("kind", "state", "name"), list(matrix()))
def test_each_move_is_shown_and_each_other_is_refused(
    client: Client, world: World, kind: OrderKind, state: OrderState, name: str
) -> None:
    scene = Scene()
    order = scene.order(kind, state)
    assert order.state == state
    target = ACTS[name][0]
    events = AuditEvent.objects.count()
    if target in ALLOWED[kind].get(state, ()):
        after = act(name, scene, order)
        assert after.state == target
        assert AuditEvent.objects.count() > events
    else:
        before = _columns(order)
        try:
            act(name, scene, order)
        except WrongState:
            assert AuditEvent.objects.count() == events
        else:
            assert name == "fulfil"  # the engine asks nobody and finds nothing to fulfil
        assert _columns(order) == before
    shown = Order.objects.get(pk=order.pk)
    sign_in(client, owner_of(scene.tenant))
    page = client.get(f"/t/aurora-lab/orders/{order.pk}/")
    assert page.status_code == 200
    assert SHOWN[kind, OrderState(shown.state)] in page.content.decode()
    listed = client.get("/t/aurora-lab/orders/").content.decode()
    assert f"/orders/{order.pk}/" in listed


def _columns(order: Order) -> tuple[object, ...]:
    row = Order.objects.get(pk=order.pk)
    return row.state, row.decided_at, row.ended_at, row.decision_note, row.cluster_id


def test_the_table_has_a_page_and_an_act_for_each_of_its_moves() -> None:
    for kind in KINDS:
        moves = {target for targets in ALLOWED[kind].values() for target in targets}
        acts = {target for target, _ in ACTS.values()}
        assert moves - acts == {S.SUBMITTED}  # by the form
        for state in reachable(kind):
            assert (kind, state) in SHOWN
