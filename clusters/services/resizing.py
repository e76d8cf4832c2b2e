"""Asks for more or fewer nodes, pools more or fewer. Growing waits for an operator; shrinking needs none."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from django.db import IntegrityError
from django.utils.translation import gettext as _

from clusters import hints, live
from clusters.models import Cluster, Machine, Order, OrderKind, OrderLine, OrderState
from clusters.services.changes import begin, require_changeable
from clusters.services.clusters import lock
from clusters.services.moves import move
from clusters.services.orders import SentTwice, known_order
from clusters.services.plans import digest, inputs_of
from clusters.services.policy import approve_by_policy
from clusters.services.resize_checks import Line, ResizeRequest, check, currency_of
from clusters.words import SHRINKING
from portal.lib import clock
from portal.lib.errors import NotVisible, WrongState
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import Tenant
from tenants.rights import Action, require


def submit_resize(*, actor: Actor, cluster: Cluster, key: UUID, request: ResizeRequest) -> Order:
    """Ask for a resize. The same key gives the same order, however often it is sent.

    One that only shrinks is approved and begins at once; one that grows anything waits for an operator.
    Raises NotAllowed, WrongState (one change at a time) and BadInput (fields as of resize_checks.check).
    """
    require(actor, Action.ORDER)
    if known := known_order(actor, key):
        return known
    try:
        return _submit(actor, cluster, key, request)
    except SentTwice as twice:
        return twice.order
    except IntegrityError:
        # keys are random: this one was copied from somebody else's form
        raise WrongState(_("This form was already used."), hint=_("Open the form again.")) from None


def _submit(actor: Actor, cluster: Cluster, key: UUID, request: ResizeRequest) -> Order:
    if actor.tenant is None or actor.user is None:
        raise NotVisible
    with command("order.submitted", actor=actor) as done:
        # as for a new cluster: quota is counted over the tenant's other orders
        Tenant.objects.select_for_update(no_key=True).get(pk=actor.tenant.pk)
        if known := known_order(actor, key):
            raise SentTwice(known)
        row = lock(cluster)
        require_changeable(row)
        lines = check(row, request)
        order = Order.objects.create(
            tenant=actor.tenant,
            kind=OrderKind.RESIZE,
            key=key,
            site=row.site,
            stack=row.stack,
            cluster=row,
            cluster_name=row.name,
            justification=request.justification,
            price_per_hour=sum((line.price_per_hour * line.after for line in lines), Decimal(0)),
            currency=currency_of(row),
            created_by=actor.user,
        )
        OrderLine.objects.bulk_create(_line(order, line) for line in lines)
        move(order, OrderState.DRAFT, OrderState.SUBMITTED, submitted_at=clock.now())
        done.target = order
        done.detail = {
            "nodes": {line.pool: [line.before, line.after] for line in lines if line.added},
            "price_per_hour": str(order.price_per_hour),
            "currency": order.currency,
        }
        done.publish(*live.of_order(order), *live.of_cluster(row))
        if any(line.added > 0 for line in lines):
            hints.plan_soon(order)
        else:
            _shrink(order, row)
    cluster.refresh_from_db()
    return order


def _line(order: Order, line: Line) -> OrderLine:
    return OrderLine(
        order=order,
        pool=line.pool,
        flavor=line.flavor,
        count=line.after,
        count_before=line.before,
        price_per_hour=line.price_per_hour,
    )


def _shrink(order: Order, cluster: Cluster) -> None:
    """Approved by policy; the machines that leave are chosen in the same moment, so the plan is exact."""
    inputs = inputs_of(order)
    leaving = begin(order, cluster, {})
    plan: JSONDict = {
        "inputs": inputs,
        "cluster": cluster.external_name,
        "pools": [],
        "leaving": _named(leaving),
        "steps": [],
    }
    columns = {"plan": plan, "plan_hash": digest(plan), "planned_at": clock.now()}
    approve_by_policy(order, SHRINKING, **columns)


def _named(machines: list[Machine]) -> list[JSONDict]:
    return [{"id": str(machine.pk), "name": machine.name} for machine in machines]
