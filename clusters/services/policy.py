"""What needs no operator: approved at submit, with a row in the audit trail that says by which policy."""

from __future__ import annotations

from clusters import live
from clusters.models import Order, OrderState
from clusters.services.moves import move
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.actor import SYSTEM
from tenants.commands import command


def approve_by_policy(order: Order, note: str, **columns: object) -> None:
    """Approve a submitted order. Needs an open transaction."""
    detail: JSONDict = {"policy": note}
    with command("order.approved", actor=SYSTEM, target=order, detail=detail) as done:
        move(
            order,
            OrderState.SUBMITTED,
            OrderState.APPROVED,
            decided_at=clock.now(),
            decision_note=note,
            **columns,
        )
        done.publish(*live.of_order(order))
