"""The moves that an order may make: one table; a move is a filtered update that must hit one row."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.translation import gettext as _

from clusters.models import Order, OrderKind, OrderState
from clusters.services.notices import tell_orderer
from clusters.words import in_a_sentence
from portal.lib.errors import WrongState

Moves = Mapping[OrderState, frozenset[OrderState]]
NONE: frozenset[OrderState] = frozenset()

# Drafts live only inside the transaction of a submit. Rejected after approval: an operator takes it back.
DECIDED: Moves = MappingProxyType(
    {
        OrderState.DRAFT: frozenset({OrderState.SUBMITTED}),
        OrderState.SUBMITTED: frozenset({OrderState.APPROVED, OrderState.REJECTED, OrderState.CANCELLED}),
        OrderState.APPROVED: frozenset(
            {OrderState.FULFILLED, OrderState.REJECTED, OrderState.CANCELLED, OrderState.FAILED}
        ),
    }
)
# No operator is needed, so none can say no; and what is being removed is removed, however long it takes.
BY_POLICY: Moves = MappingProxyType(
    {
        OrderState.DRAFT: frozenset({OrderState.SUBMITTED}),
        OrderState.SUBMITTED: frozenset({OrderState.APPROVED}),
        OrderState.APPROVED: frozenset({OrderState.FULFILLED, OrderState.CANCELLED}),
    }
)
ALLOWED: Mapping[OrderKind, Moves] = MappingProxyType(
    {
        OrderKind.CREATE: DECIDED,
        OrderKind.RESIZE: DECIDED,
        OrderKind.RENEW: DECIDED,
        OrderKind.TERMINATE: BY_POLICY,
    }
)


def allowed(kind: OrderKind | str, source: OrderState) -> frozenset[OrderState]:
    """Where an order of this kind may go from a state; from an end nowhere."""
    return ALLOWED[OrderKind(kind)].get(source, NONE)


def move(order: Order, source: OrderState, target: OrderState, **columns: object) -> None:
    """Compare and swap, with a mail to who ordered. Needs an open transaction.

    Raises WrongState, which names the present state; then nothing was changed.
    """
    if target not in allowed(order.kind, source):
        raise WrongState(
            _("%(kind)s: an order that is %(source)s cannot become %(target)s.")
            % {"kind": order.get_kind_display(), "source": words(source), "target": words(target)}
        )
    hit = Order.objects.filter(pk=order.pk, state=source).update(state=target, **columns)
    if hit != 1:
        order.refresh_from_db(fields=["state"])
        raise WrongState(
            _("This order is %(state)s.") % {"state": words(OrderState(order.state))},
            hint=_("Nothing was changed. Load the page again to see the order as it is now."),
        )
    order.state = target
    for name, value in columns.items():
        setattr(order, name, value)
    tell_orderer(order)


def words(state: OrderState) -> str:
    """The state in a sentence: waiting for approval."""
    return in_a_sentence(state.label)
