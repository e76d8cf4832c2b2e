"""The life of an order as a short line of steps, and what cancelling it would mean."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from clusters import words
from clusters.models import Order, OrderKind, OrderState, StepState, StepStatus
from portal.lib.types import JSONDict

RowsT = TypeVar("RowsT", bound=QuerySet[Any])
Back = Literal["", "working", "done", "kept"]  # how far an ended order was taken back


@dataclass(frozen=True, slots=True)
class Cancelling:
    """The words of the button, the question and the answer."""

    button: str
    title: str
    text: str
    done: str


TAKE_BACK = {
    OrderKind.CREATE: Cancelling(
        gettext_noop("Cancel order"),
        gettext_noop("Cancel the order of {name}?"),
        gettext_noop("What was built for it so far is removed. You can order again at any time."),
        gettext_noop("The order is cancelled; what was built of it is removed."),
    ),
    OrderKind.RESIZE: Cancelling(
        gettext_noop("Cancel resize"),
        gettext_noop("Cancel the resize of {name}?"),
        gettext_noop("The cluster becomes what it was before. Running jobs go on."),
        gettext_noop("The resize is cancelled; the cluster becomes what it was before."),
    ),
    OrderKind.TERMINATE: Cancelling(
        gettext_noop("Call off the removal"),
        gettext_noop("Call off the removal of {name}?"),
        gettext_noop("The cluster stays as it is."),
        gettext_noop("The cluster stays."),
    ),
}
WORDS = {
    (OrderKind.RESIZE, OrderState.APPROVED): gettext_noop("Being changed"),
    (OrderKind.TERMINATE, OrderState.APPROVED): gettext_noop("Being removed"),
}
AT_ONCE = dt.timedelta(seconds=1)  # both are written in one transaction
ENDED = {OrderState.CANCELLED, OrderState.FAILED, OrderState.REJECTED}


def with_ending(rows: RowsT) -> RowsT:
    """With `went_with_cluster`: nobody cancelled the order, its cluster was ended while it was open."""
    found: RowsT = rows.annotate(
        went_with_cluster=Exists(
            Order.objects.filter(
                cluster=OuterRef("cluster"),
                kind=OrderKind.TERMINATE,
                submitted_at__gte=OuterRef("ended_at") - AT_ONCE,
                submitted_at__lte=OuterRef("ended_at") + AT_ONCE,
            )
        )
    )
    return found


def went_with_cluster(order: Order) -> bool:
    """Whether its cluster was ended while it was open; asks only where `with_ending` did not."""
    if order.state != OrderState.CANCELLED or order.kind == OrderKind.TERMINATE:
        return False
    known: bool | None = getattr(order, "went_with_cluster", None)
    if known is None:
        rows: QuerySet[Any] = Order.objects.filter(pk=order.pk)
        known = bool(with_ending(rows).get().went_with_cluster)
    return known


def state_word(order: Order) -> str:
    """The state as it reads for this kind; "" where the usual word fits."""
    if order.kind == OrderKind.TERMINATE and order.cluster is not None and order.cluster.terminate_at:
        return _("Scheduled") if order.state == OrderState.APPROVED else ""
    if order.state == OrderState.FAILED:
        return _("Given up")
    if went_with_cluster(order):
        return _("Ended with the cluster")
    known = WORDS.get((OrderKind(order.kind), OrderState(order.state)))
    return _(known) if known else ""


def cancelling(order: Order) -> Cancelling:
    """What cancelling this order means."""
    found = TAKE_BACK.get(OrderKind(order.kind), TAKE_BACK[OrderKind.CREATE])
    return Cancelling(
        button=_(found.button),
        title=_(found.title).format(name=order.cluster_name),
        text=_(found.text),
        done=_(found.done),
    )


def line_of(order: Order, steps: Sequence[StepState], back: Back = "") -> list[JSONDict]:
    """Items of components/steps.html: the order's life in four or five."""
    if order.kind == OrderKind.TERMINATE:
        return _of_end(order)
    items: list[JSONDict] = [{"title": _("Submitted"), "status": "good", "at": order.submitted_at}]
    if order.state in ENDED:
        return items + _of_ended(order, back)
    if order.state == OrderState.SUBMITTED:
        items.append({"title": _("Approval"), "status": "waiting", "text": _("by an operator")})
    else:
        by = "" if order.decided_by_id else _("by policy")
        items.append({"title": _("Approved"), "status": "good", "at": order.decided_at, "text": by})
    return items + (_of_change(order, steps) if order.kind == OrderKind.RESIZE else _of_build(order, steps))


def _of_ended(order: Order, back: Back) -> list[JSONDict]:
    items: list[JSONDict] = []
    if order.decided_at and order.cluster_id:
        # a rejection writes its own moment over the approval's
        at = None if order.state == OrderState.REJECTED else order.decided_at
        items.append({"title": _("Approved"), "status": "good", "at": at})
    word = state_word(order) or order.get_state_display()
    items.append({"title": word, "status": order.state, "at": order.ended_at})
    resize = order.kind == OrderKind.RESIZE
    if back == "kept":
        items.append(
            {
                "title": _("What was built"),
                "status": "attention",
                "text": _("stays until an owner removes it"),
            }
        )
    elif back == "working":
        title = _("Going back to what it was") if resize else _("Being taken back")
        items.append({"title": title, "status": "working"})
    elif back == "done":
        items.append({"title": _("As it was before") if resize else _("Taken back"), "status": "good"})
    return items


def _of_build(order: Order, steps: Sequence[StepState]) -> list[JSONDict]:
    built = order.state == OrderState.FULFILLED
    doing = _doing(order, steps, 0)
    doing["title"] = _("Built") if built else _("Being built")
    at = order.ended_at if built else None
    return [doing, {"title": _("Ready"), "status": "good" if built else "waiting", "at": at}]


def _of_change(order: Order, steps: Sequence[StepState]) -> list[JSONDict]:
    done = order.state == OrderState.FULFILLED
    doing = _doing(order, steps, order.cluster.generation if order.cluster else 0)
    doing["title"] = _("Changed") if done else _("Being changed")
    at = order.ended_at if done else None
    end = {"title": _("As ordered"), "status": "good" if done else "waiting", "at": at}
    if any(line.fewer for line in order.lines.all()):
        status = "good" if done else "waiting"
        return [doing, {"title": _("Machines wiped and given back"), "status": status}, end]
    return [doing, end]


def _doing(order: Order, steps: Sequence[StepState], generation: int) -> JSONDict:
    if order.state != OrderState.APPROVED:
        return {"status": "good" if order.state == OrderState.FULFILLED else "waiting", "text": ""}
    ready = sum(step.status == StepStatus.READY and step.generation >= generation for step in steps)
    waits = next((step.waits_for for step in steps if step.waits_for), "")
    stalled = any(step.status == StepStatus.STALLED for step in steps)
    if waits:
        text = _("waits for %(whom)s") % {"whom": words.who_of(waits)}
    else:
        text = _("%(ready)d of %(steps)d steps") % {"ready": ready, "steps": len(steps)} if steps else ""
    return {"status": "stalled" if stalled else "working", "text": text}


def _of_end(order: Order) -> list[JSONDict]:
    asked: JSONDict = {"title": _("Asked for"), "status": "good", "at": order.submitted_at}
    scheduled = order.cluster.terminate_at if order.cluster else None
    if order.state == OrderState.CANCELLED:
        return [asked, {"title": _("Called off"), "status": "cancelled", "at": order.ended_at}]
    if scheduled:
        return [asked, {"title": _("Scheduled"), "status": "waiting", "at": scheduled}]
    done = order.state == OrderState.FULFILLED
    end = {"title": _("Removed"), "status": "good" if done else "waiting", "at": order.ended_at}
    return [asked, {"title": _("Being removed"), "status": "good" if done else "working"}, end]
