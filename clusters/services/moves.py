"""The moves that an order may make: one table; a move is a filtered update that must hit one row."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from clusters.models import Order, OrderState
from clusters.services.notices import tell_orderer
from portal.lib.errors import WrongState

ALLOWED: Mapping[OrderState, frozenset[OrderState]] = MappingProxyType(
    {
        OrderState.DRAFT: frozenset({OrderState.SUBMITTED, OrderState.CANCELLED}),
        OrderState.SUBMITTED: frozenset({OrderState.APPROVED, OrderState.REJECTED, OrderState.CANCELLED}),
        # rejected after approval: an operator takes back what was built
        OrderState.APPROVED: frozenset(
            {OrderState.FULFILLED, OrderState.REJECTED, OrderState.CANCELLED, OrderState.FAILED}
        ),
        OrderState.FULFILLED: frozenset(),
        OrderState.REJECTED: frozenset(),
        OrderState.CANCELLED: frozenset(),
        OrderState.FAILED: frozenset(),
    }
)


def move(order: Order, source: OrderState, target: OrderState, **columns: object) -> None:
    """Compare and swap, with a mail to who ordered. Needs an open transaction.

    Raises WrongState, which names the present state; then nothing was changed.
    """
    if target not in ALLOWED[source]:
        raise WrongState(f"An order that is {words(source)} cannot become {words(target)}.")
    hit = Order.objects.filter(pk=order.pk, state=source).update(state=target, **columns)
    if hit != 1:
        order.refresh_from_db(fields=["state"])
        raise WrongState(
            f"This order is {words(OrderState(order.state))}.",
            hint="Nothing was changed. Load the page again to see the order as it is now.",
        )
    order.state = target
    for name, value in columns.items():
        setattr(order, name, value)
    tell_orderer(order)


def words(state: OrderState) -> str:
    """The state in a sentence: waiting for approval."""
    return str(state.label).lower()
