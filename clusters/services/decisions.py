"""Deciding about orders: what an operator does."""

from __future__ import annotations

from collections import Counter

from django.db import IntegrityError
from django.utils.translation import gettext as _

from clusters import hints, live
from clusters.models import Cluster, Flavor, Order, OrderKind, OrderState
from clusters.services import capacity
from clusters.services.allocation import make_cluster, take
from clusters.services.changes import begin, require_changeable
from clusters.services.moves import move
from clusters.services.order_checks import too_long
from clusters.services.orders import lock_cluster, take_back
from clusters.services.plans import PlanChanged, still_holds
from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, WrongState
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import Membership, Tenant

NOTE_LENGTH = 2000


def approve_order(*, actor: Actor, order: Order, plan_hash: str, note: str = "") -> Order:
    """Approve exactly the plan that was seen: allocate its machines and set the build or change in motion.

    Raises NotAllowed, WrongState (PlanChanged if a new plan is needed, which is then being made) and
    BadInput; then nothing was changed.
    """
    require_decider(actor, order)
    _check_note(note)
    try:
        with command("order.approved", actor=actor, target=order) as done:
            tenant = Tenant.objects.select_for_update(no_key=True).get(pk=order.tenant_id)
            cluster = lock_cluster(order)
            columns = {"decided_by": actor.user, "decided_at": clock.now(), "decision_note": note}
            move(order, OrderState.SUBMITTED, OrderState.APPROVED, **columns)
            _check_holds(order, tenant, plan_hash)
            done.detail = {"plan": plan_hash, "note": note} | _set_in_motion(order, cluster)
            done.publish(*live.of_order(order))
    except PlanChanged:
        order.refresh_from_db()
        hints.plan_soon(order)
        raise
    except IntegrityError as error:
        order.refresh_from_db()
        raise WrongState(
            _("%(cluster)s cannot be made: its name or a machine was taken a moment ago.")
            % {"cluster": order.cluster_name},
            hint=_("Nothing was changed. Load the page again."),
        ) from error
    return order


def _set_in_motion(order: Order, cluster: Cluster | None) -> JSONDict:
    if order.kind == OrderKind.CREATE:
        order.cluster = make_cluster(order)
        order.save(update_fields=["cluster"])
        return {"cluster": order.cluster.external_name}
    if order.kind != OrderKind.RESIZE or cluster is None:
        raise WrongState(_("%(kind)s: no operator decides about this.") % {"kind": order.get_kind_display()})
    require_changeable(cluster, but=order)
    leaving = begin(order, cluster, take(order))
    return {"cluster": cluster.external_name, "leaving": [machine.name for machine in leaving]}


def reject_order(*, actor: Actor, order: Order, note: str) -> Order:
    """Say no, with a reason for the tenant. After an approval it takes back what was built so far.

    A change goes back to what was before. Raises NotAllowed, WrongState (too late) and BadInput.
    """
    require_decider(actor, order)
    _check_note(note)
    if not note.strip():
        raise BadInput(fields={"note": _("Say why: the tenant reads it.")})
    with command("order.rejected", actor=actor, target=order, detail={"note": note}) as done:
        cluster = lock_cluster(order)
        source = OrderState.APPROVED if order.state == OrderState.APPROVED else OrderState.SUBMITTED
        now = clock.now()
        columns = {"decided_by": actor.user, "decided_at": now, "decision_note": note, "ended_at": now}
        move(order, source, OrderState.REJECTED, **columns)
        take_back(order, cluster)
        done.publish(*live.of_order(order))
    return order


def require_decider(actor: Actor, order: Order) -> None:
    """Raise NotAllowed unless an operator who is no member of the order's tenant, read afresh."""
    if not actor.is_operator or actor.user is None:
        raise NotAllowed(_("Only operators decide about orders."))
    if Membership.objects.filter(tenant=order.tenant_id, user=actor.user, ended_at=None).exists():
        raise NotAllowed(
            _("You are a member of %(tenant)s, so you cannot decide about its orders.")
            % {"tenant": order.tenant},
            hint=_("Ask another operator to look at it."),
        )


def _check_note(note: str) -> None:
    if len(note) > NOTE_LENGTH or "\0" in note:
        raise BadInput(fields={"note": too_long(NOTE_LENGTH)})


def _check_holds(order: Order, tenant: Tenant, plan_hash: str) -> None:
    if tenant.suspended_at is not None:
        raise WrongState(_("%(tenant)s is suspended.") % {"tenant": tenant})
    if not order.site.active:
        raise WrongState(_("%(site)s takes no orders at present.") % {"site": order.site})
    wanted: Counter[Flavor] = Counter()
    for line in order.lines.select_related("flavor"):
        wanted[line.flavor] += line.added
    # what still waits does not count: this order is decided first
    more = {flavor: count for flavor, count in wanted.items() if count > 0}
    if refused := capacity.over_quota(tenant, more, besides={}):
        raise WrongState(" ".join(refused.values()))
    if not still_holds(order, plan_hash):
        raise PlanChanged(
            _("The plan changed since you looked at it."),
            hint=_("Nothing was changed. Look at the new plan and decide again."),
        )
