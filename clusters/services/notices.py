"""Tells who ordered, by mail, what became of the order: decided, fulfilled, failed."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from clusters.models import Order, OrderKind, OrderState
from clusters.words import POLICIES, in_a_sentence
from portal.lib.types import Words
from tenants.models import Membership
from tenants.services.outbox import queue_mail_to

WHAT = {
    OrderState.APPROVED: _("Your order was approved. It is being built now."),
    OrderState.REJECTED: _("Your order was rejected. What was built for it, if anything, is taken back."),
    OrderState.FULFILLED: _("Your order is fulfilled: what it asked for was seen."),
    OrderState.FAILED: _("Your order failed: the operators gave up building it."),
}
NEXT = {
    OrderState.APPROVED: _("nothing. The page below shows each step; another mail comes at the end."),
    OrderState.REJECTED: _('open the page below; "Order again with changes" starts from what you wrote.'),
    OrderState.FULFILLED: _("open the page below; from there you reach the cluster."),
    OrderState.FAILED: _("open the page below. What was built stays until an owner removes it."),
}

OF_RESIZE = {
    OrderState.APPROVED: _("Your order was approved. The cluster is being changed now; running jobs go on."),
    OrderState.REJECTED: _("Your order was rejected. The cluster is what it was, or goes back to it."),
    OrderState.FAILED: _("The operators gave the change up. The cluster goes back to what it was."),
}
NEXT_OF_RESIZE = {
    OrderState.REJECTED: _("open the page below and read why."),
    OrderState.FAILED: _("open the page below and read why. Nothing of the cluster is removed."),
}


class _State:
    """A state's word as it reads within a sentence, in the language of whoever reads it."""

    def __init__(self, state: OrderState) -> None:
        self.state = state

    def __str__(self) -> str:
        return in_a_sentence(self.state.label)


def tell_orderer(order: Order) -> None:
    """Queue the mail of the state that the order has just reached; needs the open transaction of that move.

    Silent about what people do themselves, about what policy approves, and towards who is no member any more.
    """
    state = OrderState(order.state)
    if state not in WHAT or (state == OrderState.APPROVED and order.decided_by_id is None):
        return
    here = Membership.objects.working().filter(tenant=order.tenant_id, user=order.created_by_id)
    if not here.exists():
        return
    resize = order.kind == OrderKind.RESIZE
    what = OF_RESIZE.get(state, WHAT[state]) if resize else WHAT[state]
    step = NEXT_OF_RESIZE.get(state, NEXT[state]) if resize else NEXT[state]
    is_removed = order.kind == OrderKind.TERMINATE and state == OrderState.FULFILLED
    queue_mail_to(
        order.created_by,
        subject=format_lazy(
            _("{order} of {tenant}: {state}"), order=order, tenant=order.tenant, state=_State(state)
        ),
        template="order.txt",
        context={
            "order": order,
            "note": "" if order.decision_note in POLICIES else order.decision_note,
            "person": order.created_by,
            "what": _removed(order) if is_removed else what,
            "next": _("nothing.") if is_removed else step,
            "link": settings.PUBLIC_URL + reverse("order", args=[order.tenant.slug, order.pk]),
        },
        kind=f"order.{state.value}",
        about_id=order.pk,
    )


def _removed(order: Order) -> Words:
    return format_lazy(_("The cluster {cluster} is removed, as you asked."), cluster=order.cluster_name)
