"""The life of an order as a short line of steps, and what cancelling it would mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from clusters.models import Order, OrderKind, OrderState, StepState, StepStatus
from portal.lib.types import JSONDict

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
        "Cancel order",
        "Cancel the order of {name}?",
        "What was built for it so far is removed. You can order again at any time.",
        "The order is cancelled; what was built of it is removed.",
    ),
    OrderKind.RESIZE: Cancelling(
        "Cancel resize",
        "Cancel the resize of {name}?",
        "The cluster becomes what it was before. Running jobs go on.",
        "The resize is cancelled; the cluster becomes what it was before.",
    ),
    OrderKind.TERMINATE: Cancelling(
        "Call off the removal",
        "Call off the removal of {name}?",
        "The cluster stays as it is.",
        "The cluster stays.",
    ),
}
WORDS = {
    (OrderKind.RESIZE, OrderState.APPROVED): "Being changed",
    (OrderKind.TERMINATE, OrderState.APPROVED): "Being removed",
}
ENDED = {OrderState.CANCELLED, OrderState.FAILED, OrderState.REJECTED}


def state_word(order: Order) -> str:
    """The state as it reads for this kind; "" where the usual word fits."""
    if order.kind == OrderKind.TERMINATE and order.cluster is not None and order.cluster.terminate_at:
        return "Scheduled" if order.state == OrderState.APPROVED else ""
    if order.state == OrderState.FAILED:
        return "Given up"
    return WORDS.get((OrderKind(order.kind), OrderState(order.state)), "")


def cancelling(order: Order) -> Cancelling:
    """What cancelling this order means."""
    found = TAKE_BACK.get(OrderKind(order.kind), TAKE_BACK[OrderKind.CREATE])
    return replace(found, title=found.title.format(name=order.cluster_name))


def line_of(order: Order, steps: Sequence[StepState], back: Back = "") -> list[JSONDict]:
    """Items of components/steps.html: the order's life in four or five."""
    if order.kind == OrderKind.TERMINATE:
        return _of_end(order)
    items: list[JSONDict] = [{"title": "Submitted", "status": "good", "at": order.submitted_at}]
    if order.state in ENDED:
        return items + _of_ended(order, back)
    if order.state == OrderState.SUBMITTED:
        items.append({"title": "Approval", "status": "waiting", "text": "by an operator"})
    else:
        by = "" if order.decided_by_id else "by policy"
        items.append({"title": "Approved", "status": "good", "at": order.decided_at, "text": by})
    return items + (_of_change(order, steps) if order.kind == OrderKind.RESIZE else _of_build(order, steps))


def _of_ended(order: Order, back: Back) -> list[JSONDict]:
    items: list[JSONDict] = []
    if order.decided_at and order.cluster_id:
        # a rejection writes its own moment over the approval's
        at = None if order.state == OrderState.REJECTED else order.decided_at
        items.append({"title": "Approved", "status": "good", "at": at})
    word = state_word(order) or order.get_state_display()
    items.append({"title": word, "status": order.state, "at": order.ended_at})
    resize = order.kind == OrderKind.RESIZE
    if back == "kept":
        items.append(
            {"title": "What was built", "status": "attention", "text": "stays until an owner removes it"}
        )
    elif back == "working":
        title = "Going back to what it was" if resize else "Being taken back"
        items.append({"title": title, "status": "working"})
    elif back == "done":
        items.append({"title": "As it was before" if resize else "Taken back", "status": "good"})
    return items


def _of_build(order: Order, steps: Sequence[StepState]) -> list[JSONDict]:
    built = order.state == OrderState.FULFILLED
    doing = _doing(order, steps, 0)
    doing["title"] = "Built" if built else "Being built"
    at = order.ended_at if built else None
    return [doing, {"title": "Ready", "status": "good" if built else "waiting", "at": at}]


def _of_change(order: Order, steps: Sequence[StepState]) -> list[JSONDict]:
    done = order.state == OrderState.FULFILLED
    doing = _doing(order, steps, order.cluster.generation if order.cluster else 0)
    doing["title"] = "Changed" if done else "Being changed"
    at = order.ended_at if done else None
    end = {"title": "As ordered", "status": "good" if done else "waiting", "at": at}
    if any(line.fewer for line in order.lines.all()):
        status = "good" if done else "waiting"
        return [doing, {"title": "Machines wiped and given back", "status": status}, end]
    return [doing, end]


def _doing(order: Order, steps: Sequence[StepState], generation: int) -> JSONDict:
    if order.state != OrderState.APPROVED:
        return {"status": "good" if order.state == OrderState.FULFILLED else "waiting", "text": ""}
    ready = sum(step.status == StepStatus.READY and step.generation >= generation for step in steps)
    waits = next((step.waits_for for step in steps if step.waits_for), "")
    stalled = any(step.status == StepStatus.STALLED for step in steps)
    text = f"waits for {waits}" if waits else f"{ready} of {len(steps)} steps" if steps else ""
    return {"status": "stalled" if stalled else "working", "text": text}


def _of_end(order: Order) -> list[JSONDict]:
    asked: JSONDict = {"title": "Asked for", "status": "good", "at": order.submitted_at}
    scheduled = order.cluster.terminate_at if order.cluster else None
    if order.state == OrderState.CANCELLED:
        return [asked, {"title": "Called off", "status": "cancelled", "at": order.ended_at}]
    if scheduled:
        return [asked, {"title": "Scheduled", "status": "waiting", "at": scheduled}]
    done = order.state == OrderState.FULFILLED
    end = {"title": "Removed", "status": "good" if done else "waiting", "at": order.ended_at}
    return [asked, {"title": "Being removed", "status": "good" if done else "working"}, end]
