"""The table of moves: every move that it does not hold is refused."""

from __future__ import annotations

import itertools

import pytest

from clusters.models import Order, OrderKind, OrderState
from clusters.services.moves import ALLOWED, allowed, move
from portal.lib.errors import WrongState
from tests.builders import make_tenant
from tests.cases import case
from tests.clusters.builders import make_order, make_site

pytestmark = pytest.mark.django_db
PAIRS = list(itertools.product(OrderState, OrderState))


@case("U36")
@pytest.mark.parametrize("kind", list(OrderKind))
def test_each_move_of_the_table_and_no_other(kind: OrderKind) -> None:
    order = make_order(make_tenant(), make_site(), planned=False)
    for source, target in PAIRS:
        Order.objects.filter(pk=order.pk).update(state=source, kind=kind)
        row = Order.objects.get(pk=order.pk)
        if target in allowed(kind, source):
            move(row, source, target)
            assert Order.objects.get(pk=order.pk).state == target
        else:
            with pytest.raises(WrongState):
                move(row, source, target)
            assert Order.objects.get(pk=order.pk).state == source


@case("U36")
def test_a_move_from_a_state_that_passed_names_the_present_one() -> None:
    order = make_order(make_tenant(), make_site(), planned=False)
    stale = Order.objects.get(pk=order.pk)
    move(order, OrderState.SUBMITTED, OrderState.CANCELLED)
    with pytest.raises(WrongState, match="cancelled"):
        move(stale, OrderState.SUBMITTED, OrderState.APPROVED)
    assert stale.state == OrderState.CANCELLED


def test_every_kind_stands_in_the_table_and_ends_are_ends() -> None:
    assert set(ALLOWED) == set(OrderKind)
    ends = {OrderState.FULFILLED, OrderState.REJECTED, OrderState.CANCELLED, OrderState.FAILED}
    for kind in OrderKind:
        assert {state for state in OrderState if not allowed(kind, state)} == ends
