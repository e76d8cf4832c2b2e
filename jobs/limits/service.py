"""Sets limits: the wish in one transaction with its audit row, Slurm's part by a worker that looks again."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping

import structlog
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from clusters import hints
from clusters.clients.slurmrest.accounting import SlurmAccounting
from clusters.clients.slurmrest.past import AssociationLimits
from clusters.models import Cluster, IdentityKind, SlurmIdentity, StepState
from clusters.services.wake import wake
from jobs.history import books
from jobs.limits.models import FIELDS, LimitState, SlurmLimit
from portal.lib import clock
from portal.lib.errors import NotVisible, OutsideError, WrongState
from tenants.actor import Actor
from tenants.commands import command
from tenants.rights import Action, require
from tenants.scoping import TenantQuerySet, get_visible

log = structlog.get_logger(__name__)
TASK = "jobs.set_limits"
LONGEST_BACK_OFF = dt.timedelta(minutes=15)
NOT_TAKEN = "Slurm did not take the limits."


def members_of(actor: Actor, cluster: Cluster) -> TenantQuerySet[SlurmIdentity]:
    """The working accounts of members in a cluster, with their limits."""
    rows = SlurmIdentity.objects.for_actor(actor).filter(
        cluster=cluster, kind=IdentityKind.MEMBER, active=True
    )
    return rows.select_related("membership__user", "limit").order_by("created_at", "pk")


def has_accounting(cluster: Cluster) -> bool:
    """Whether the cluster's site keeps books, without which Slurm knows no limits."""
    return bool(cluster.site.drivers.get("accounting"))


def set_limits(
    *, actor: Actor, cluster: Cluster, member: uuid.UUID, limits: Mapping[str, int | None]
) -> SlurmLimit:
    """Want these limits for a member's account; what is left out is lifted.

    Raises NotVisible, NotAllowed, and WrongState where there is no accounting.
    """
    cluster = get_visible(Cluster.objects.select_related("site"), actor, cluster.pk)
    identity = members_of(actor, cluster).filter(membership=member).first()
    if identity is None:
        raise NotVisible
    require(actor, Action.MANAGE_PEOPLE)
    _require_accounting(cluster)
    wanted = {name: limits.get(name) for name in FIELDS}
    with command("limits.changed", actor=actor, target=identity, detail=dict(wanted)):
        first = not SlurmLimit.objects.filter(cluster=cluster).exists()
        row, _made = SlurmLimit.objects.update_or_create(
            identity=identity,
            defaults={
                **wanted,
                "tenant_id": cluster.tenant_id,
                "cluster": cluster,
                "state": LimitState.WANTED,
                "message": "",
                "failures": 0,
                "next_at": clock.now(),
            },
        )
        SlurmLimit.objects.filter(pk=row.pk).update(version=F("version") + 1)
        if first:
            wake(cluster, generation=F("generation") + 1)  # from now on Slurm is to hold to limits
        key = row.pk
        transaction.on_commit(lambda: hints.send(TASK, key=key, queue="default"), robust=True)
    return row


def _require_accounting(cluster: Cluster) -> None:
    if not has_accounting(cluster):
        raise WrongState(_("This cluster has no accounting, so Slurm knows no limits."))


def are_wanted(cluster: Cluster) -> bool:
    """Whether anything was ever limited there: the engine asks."""
    return SlurmLimit.objects.filter(cluster=cluster).exists()


def send_due() -> None:
    """A hint for each wish that is not fulfilled; the truth behind the first one."""
    due = SlurmLimit.objects.filter(
        state__in=(LimitState.WANTED, LimitState.FAILED), next_at__lte=clock.now()
    )
    due = due.filter(identity__active=True, cluster__wanted=True)
    for key in due.order_by("next_at").values_list("pk", flat=True)[:200]:
        hints.send(TASK, key=key, queue="default")


def apply(key: uuid.UUID | str) -> None:
    """Tell Slurm, and see that it has them. Repeating it is harmless."""
    rows = SlurmLimit.objects.select_related("identity", "cluster__slurm", "cluster__tenant")
    row = (
        rows.filter(pk=key, identity__active=True, cluster__wanted=True).exclude(state=LimitState.SET).first()
    )
    if row is None:
        return
    try:
        with books.books_of(row.cluster.slurm, IdentityKind.ADMINISTRATOR) as found:
            _apply(found, row)
    except (OutsideError, WrongState) as error:
        _put_off(row, error.message)
        return
    # a change meanwhile has raised the version, and is told next
    SlurmLimit.objects.filter(pk=row.pk, version=row.version).update(
        state=LimitState.SET, message="", failures=0, next_at=None
    )


def _apply(found: SlurmAccounting, row: SlurmLimit) -> None:
    wanted = AssociationLimits(
        account=account_of(row.cluster),
        cluster=row.cluster.external_name,
        user=row.identity.name,
        **{name: getattr(row, name) for name in FIELDS},
    )
    found.set_limits(wanted)
    if wanted not in {one.limits for one in found.associations()}:
        raise WrongState(NOT_TAKEN)


def account_of(cluster: Cluster) -> str:
    """The tenant's account in Slurm, as the step that made it told. Raises WrongState before that."""
    told = StepState.objects.filter(cluster=cluster, name="accounts").values_list("facts", flat=True).first()
    if not told or not told.get("account"):
        raise WrongState("Slurm's users are not made yet.")
    return str(told["account"])


def _put_off(row: SlurmLimit, message: str) -> None:
    log.info("limits.not_set", limit=str(row.pk), trouble=message)
    pause = min(dt.timedelta(seconds=5) * 2 ** min(row.failures, 8), LONGEST_BACK_OFF)
    SlurmLimit.objects.filter(pk=row.pk, version=row.version).update(
        state=LimitState.FAILED, message=message[:300], failures=row.failures + 1, next_at=clock.now() + pause
    )
