"""Ending a cluster, and what operators do to one: retry, pause, resume, give up."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from uuid import UUID, uuid4

import structlog
from django.utils.translation import gettext as _

from clusters import live, told
from clusters.models import Cluster, Order, OrderKind, OrderState, Phase, StepStatus
from clusters.services import desired
from clusters.services.moves import move
from clusters.services.plans import digest
from clusters.services.policy import approve_by_policy
from clusters.services.wake import wake
from clusters.words import ENDING, is_phase
from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, WrongState
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.commands import Command, command
from tenants.rights import Action, require

log = structlog.get_logger(__name__)
GRACE = dt.timedelta(hours=24)


def terminate_cluster(
    *, actor: Actor, cluster: Cluster, typed_name: str, at_once: bool = False, key: UUID | None = None
) -> Order:
    """End a cluster for good, after a grace of 24 hours or at once; the name is typed to confirm.

    A termination is an order that policy approves. Raises NotAllowed, WrongState and BadInput.
    """
    require(actor, Action.TERMINATE)
    with command("cluster.termination_ordered", actor=actor, target=cluster) as done:
        row = lock(cluster)
        if not row.wanted or row.phase == Phase.DELETED:
            raise WrongState(is_phase(row))
        if row.terminate_at is not None and not at_once:
            raise WrongState(
                _("%(cluster)s is to be removed at %(at)s already.")
                % {"cluster": row.name, "at": f"{row.terminate_at:%Y-%m-%d %H:%M} UTC"}
            )
        if typed_name.strip() != row.name:
            raise BadInput(fields={"confirm": _("Type %(name)s to confirm.") % {"name": row.name}})
        # what never became ready, or was given up, holds nothing that a grace could save
        now_then = at_once or not row.was_ready or row.phase == Phase.FAILED
        _end_open_orders(row, done, removed_at_once=now_then)
        order = _termination(actor, row, key or uuid4())
        if now_then:
            begin_removal(row)
        else:
            wake(row, terminate_at=clock.now() + GRACE)
        done.detail = {"at_once": now_then, "order": str(order.pk)}
        done.publish(*live.of_order(order), *live.of_cluster(row))
    cluster.refresh_from_db()
    return order


def begin_removal(cluster: Cluster) -> None:
    """From here the engine goes backwards. Needs an open transaction and the cluster locked."""
    wake(cluster, wanted=False, paused=False, terminate_at=None, phase=Phase.DELETING, reason="", message="")


def begin_due_removal(*, actor: Actor, cluster: Cluster) -> None:
    """Begin a removal whose time has come. Raises WrongState if it was called off."""
    with command("cluster.removal_began", actor=actor, target=cluster) as done:
        row = lock(cluster)
        if row.terminate_at is None or row.terminate_at > clock.now() or not row.wanted:
            raise WrongState(_("Nothing is due."))
        begin_removal(row)
        done.publish(*live.of_cluster(row))


def retry(*, actor: Actor, cluster: Cluster) -> None:
    """Look again now, and try again what stalled."""
    with _verb("cluster.retried", actor, cluster) as (row, done):
        _refuse_ended(row)
        wake(row, reason="", message="")
        done.publish(*live.of_cluster(row))


def mend(*, actor: Actor, cluster: Cluster, seen: str | None = None) -> None:
    """Set right what drifted at a site that asks first.

    `seen` is the drift_hash of what the operator looked at. Raises WrongState when nothing has drifted, or
    something else than that.
    """
    with _verb("cluster.mended", actor, cluster) as (row, done):
        _refuse_ended(row)
        drifted = row.steps.filter(status=StepStatus.DRIFTED)
        found = {state.name: state.differences for state in drifted}
        differences = [one for listed in found.values() for one in listed]
        if seen is not None and differences and seen != drift_hash(differences):
            raise WrongState(
                _("The differences changed since you looked at them."),
                hint=_("Nothing was mended. Look at them again."),
            )
        if not drifted.update(mend=True):
            raise WrongState(_("Nothing of %(cluster)s has drifted.") % {"cluster": row.name})
        wake(row)
        # the tenant reads its trail too: of what is the provider's it gets numbers
        own = {state.name for state in drifted if told.is_own(state.component)}
        done.detail = {
            "steps": {name: len(listed) for name, listed in found.items()},
            "differences": [one for name, listed in found.items() if name in own for one in listed],
        }
        log.info("cluster.mended", cluster=str(row.pk), operator=str(actor.user), differences=differences)
        done.publish(*live.of_cluster(row))


def drift_hash(differences: list[JSONDict]) -> str:
    """Tells one set of differences from another."""
    return digest({"differences": differences})


def pause(*, actor: Actor, cluster: Cluster) -> None:
    """Leave the cluster alone until somebody resumes it; nothing is removed."""
    with _verb("cluster.paused", actor, cluster) as (row, done):
        _refuse_ended(row)
        if row.paused:
            raise WrongState(_("%(cluster)s is paused already.") % {"cluster": row.name})
        wake(row, paused=True)
        done.publish(*live.of_cluster(row))


def resume(*, actor: Actor, cluster: Cluster) -> None:
    """Go on; deadlines begin anew, because waiting for a person is no time-out."""
    with _verb("cluster.resumed", actor, cluster) as (row, done):
        if not row.paused:
            raise WrongState(_("%(cluster)s is not paused.") % {"cluster": row.name})
        row.steps.update(deadline_at=None)
        wake(row, paused=False)
        done.publish(*live.of_cluster(row))


def give_up(*, actor: Actor, cluster: Cluster, note: str) -> None:
    """Declare what is under way failed; the only thing that does. Raises BadInput, NotAllowed, WrongState.

    Of a build, what was built stays until the tenant's owner removes it. A cluster that was ready goes
    back to what it was before the change; nothing of it is removed.
    """
    if not note.strip() or len(note) > 2000 or "\0" in note:
        raise BadInput(fields={"note": _("Say why, in at most 2000 characters: the tenant reads it.")})
    with _verb("cluster.given_up", actor, cluster) as (row, done):
        _refuse_ended(row)
        order = under_way(row)
        if order is None:
            raise WrongState(
                _("Only a build or a change can be given up; none is under way at %(cluster)s.")
                % {"cluster": row.name}
            )
        move(order, OrderState.APPROVED, OrderState.FAILED, ended_at=clock.now(), decision_note=note)
        if order.kind == OrderKind.CREATE:
            wake(row, phase=Phase.FAILED, reason="GivenUp", message=note)
            Cluster.objects.filter(pk=row.pk).update(next_reconcile_at=None)
        else:
            desired.go_back(row, order)
        done.detail = {"note": note, "order": str(order.pk)}
        done.publish(*live.of_order(order), *live.of_cluster(row))


def under_way(cluster: Cluster) -> Order | None:
    """The approved order that the cluster is being built or changed for, if it is to stay."""
    if not cluster.wanted:
        return None
    kinds = [OrderKind.CREATE, OrderKind.RESIZE]
    rows = Order.objects.filter(cluster=cluster, kind__in=kinds, state=OrderState.APPROVED)
    found: Order | None = rows.first()
    return found


@contextmanager
def _verb(verb: str, actor: Actor, cluster: Cluster) -> Iterator[tuple[Cluster, Command]]:
    """A command of an operator on a locked cluster."""
    if not actor.is_operator:
        raise NotAllowed(_("Only operators do this."))
    with command(verb, actor=actor, target=cluster) as done:
        yield lock(cluster), done


def lock(cluster: Cluster) -> Cluster:
    """The row as it is now, locked."""
    row: Cluster = Cluster.objects.select_for_update(of=("self",)).select_related("site").get(pk=cluster.pk)
    return row


def _refuse_ended(cluster: Cluster) -> None:
    if cluster.phase in {Phase.DELETED, Phase.FAILED}:
        raise WrongState(is_phase(cluster))


def _end_open_orders(cluster: Cluster, done: Command, *, removed_at_once: bool) -> None:
    """An end wins over whatever is open; if the cluster lives on for its grace, a change is taken back."""
    rows = Order.objects.filter(
        cluster=cluster, state__in=[OrderState.SUBMITTED, OrderState.APPROVED]
    ).exclude(kind=OrderKind.TERMINATE)
    for order in rows:
        move(order, OrderState(order.state), OrderState.CANCELLED, ended_at=clock.now())
        if order.kind == OrderKind.RESIZE and not removed_at_once:
            desired.go_back(cluster, order)
        done.publish(*live.of_order(order))


def _termination(actor: Actor, cluster: Cluster, key: UUID) -> Order:
    if actor.user is None:
        raise NotAllowed
    scheduled = Order.objects.filter(cluster=cluster, kind=OrderKind.TERMINATE, state=OrderState.APPROVED)
    if known := scheduled.first():
        return known
    order = Order.objects.create(
        tenant=cluster.tenant,
        kind=OrderKind.TERMINATE,
        site=cluster.site,
        stack=cluster.stack,
        cluster=cluster,
        cluster_name=cluster.name,
        price_per_hour=Decimal(0),
        key=key,
        created_by=actor.user,
    )
    move(order, OrderState.DRAFT, OrderState.SUBMITTED, submitted_at=clock.now())
    approve_by_policy(order, ENDING)
    return order
