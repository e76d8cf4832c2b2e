"""Submitting and cancelling orders: what a tenant does. Decisions stand in clusters.services.decisions."""

from __future__ import annotations

from uuid import UUID

from django.db import IntegrityError
from django.utils.translation import gettext as _

from clusters import hints, live
from clusters.models import Cluster, Order, OrderKind, OrderLine, OrderState, Phase
from clusters.services import desired
from clusters.services.moves import move
from clusters.services.order_checks import OrderRequest, SafeNames, check, check_place
from clusters.services.wake import wake
from portal.lib import clock
from portal.lib.errors import NotVisible, WrongState
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import Tenant
from tenants.rights import Action, require


def submit_order(*, actor: Actor, key: UUID, request: OrderRequest) -> Order:
    """Ask for a cluster. The same key gives the same order, however often it is sent.

    Raises NotAllowed, WrongState and BadInput (fields as of order_checks.check).
    """
    require(actor, Action.ORDER)
    if known := known_order(actor, key):
        return known
    names = check(request)
    try:
        return _submit(actor=actor, key=key, request=request, names=names)
    except SentTwice as twice:
        return twice.order
    except IntegrityError:
        # keys are random: this one was copied from somebody else's form
        raise WrongState(_("This form was already used."), hint=_("Open the order form again.")) from None


class SentTwice(Exception):
    """Two sends of one form at the same moment, and the other one won: undo this one."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self.order = order


def cancel_order(*, actor: Actor, order: Order) -> Order:
    """Take back an order before its decision, or while what it asked for is not there yet.

    What a create built is removed; a resize goes back to what was before; a scheduled removal is dropped.
    Raises WrongState when it is too late; then nothing was changed.
    """
    require(actor, Action.ORDER)
    with command("order.cancelled", actor=actor, target=order) as done:
        cluster = lock_cluster(order)
        source = OrderState.APPROVED if order.state == OrderState.APPROVED else OrderState.SUBMITTED
        move(order, source, OrderState.CANCELLED, ended_at=clock.now())
        take_back(order, cluster)
        done.detail = {"was": source}
        done.publish(*live.of_order(order))
    return order


def lock_cluster(order: Order) -> Cluster | None:
    """The order's cluster, locked before any order: the engine takes the two in the same sequence."""
    found: Cluster | None = (
        Cluster.objects.select_for_update(of=("self",)).select_related("site").filter(orders=order).first()
    )
    return found


def take_back(order: Order, cluster: Cluster | None) -> None:
    """Undo what an ended order set in motion. Needs an open transaction and the cluster locked.

    A create that never became ready is removed, backwards; a scheduled termination is dropped; a resize
    goes forward to the pools from before.
    """
    if cluster is None:
        return
    if order.kind == OrderKind.RESIZE:
        if cluster.wanted:
            desired.go_back(cluster, order)
        return
    if order.kind == OrderKind.TERMINATE:
        if not cluster.wanted:
            raise WrongState(
                _("The removal of %(cluster)s has begun and cannot be taken back.")
                % {"cluster": cluster.name}
            )
        wake(cluster, terminate_at=None)
        return
    if cluster.was_ready:
        raise WrongState(
            _("The cluster %(cluster)s is ready.") % {"cluster": cluster.name},
            hint=_("It can be terminated instead."),
        )
    wake(cluster, wanted=False, paused=False, phase=Phase.DELETING)


def known_order(actor: Actor, key: UUID) -> Order | None:
    """What this form made when it was sent before."""
    found: Order | None = Order.objects.for_actor(actor).filter(key=key, created_by=actor.user).first()
    return found


def _submit(*, actor: Actor, key: UUID, request: OrderRequest, names: SafeNames) -> Order:
    if actor.tenant is None or actor.user is None:
        raise NotVisible
    with command("order.submitted", actor=actor) as done:
        # one submit of a tenant at a time: names and quota are counted over its other orders
        tenant = Tenant.objects.select_for_update(no_key=True).get(pk=actor.tenant.pk)
        if known := known_order(actor, key):
            raise SentTwice(known)
        check_place(tenant, request, names)
        order = Order.objects.create(
            tenant=tenant,
            key=key,
            site=request.site,
            stack=request.stack,
            cluster_name=names.cluster,
            justification=request.justification,
            parameters=names.parameters,
            price_per_hour=request.price_per_hour(),
            currency=request.pools[0].offering.currency,
            created_by=actor.user,
        )
        OrderLine.objects.bulk_create(
            OrderLine(
                order=order,
                pool=name,
                flavor=pool.offering.flavor,
                count=pool.count,
                price_per_hour=pool.offering.price_per_hour,
            )
            for name, pool in zip(names.pools, request.pools, strict=True)
        )
        move(order, OrderState.DRAFT, OrderState.SUBMITTED, submitted_at=clock.now())
        done.target = order
        done.detail = {"price_per_hour": str(order.price_per_hour), "currency": order.currency}
        done.publish(*live.of_order(order))
        hints.plan_soon(order)
    return order
