"""The table of moves: every move that it does not hold is refused."""

from __future__ import annotations

import itertools

import pytest

from clusters.models import Order, OrderState
from clusters.services.moves import ALLOWED, move
from portal.lib.errors import WrongState
from tests.builders import make_tenant
from tests.cases import case
from tests.clusters.builders import make_order, make_site

pytestmark = pytest.mark.django_db
PAIRS = list(itertools.product(OrderState, OrderState))


@case("U36")
def test_each_move_of_the_table_and_no_other() -> None:
    order = make_order(make_tenant(), make_site(), planned=False)
    for source, target in PAIRS:
        Order.objects.filter(pk=order.pk).update(state=source)
        row = Order.objects.get(pk=order.pk)
        if target in ALLOWED[source]:
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


def test_every_state_stands_in_the_table() -> None:
    assert set(ALLOWED) == set(OrderState)
