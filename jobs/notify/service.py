"""What a member asks to be told of, and what he or she has read."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.utils.translation import gettext as _

from jobs.models import Job
from jobs.notify.groups import Group, grouped
from jobs.notify.models import JobNotice, JobSubscription
from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import User
from tenants.rights import Action, require
from tenants.scoping import TenantQuerySet

MOST_SHOWN = 500  # notices behind the lines of a page


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be told, and how."""

    on_start: bool = False
    on_end: bool = False
    on_failure: bool = False
    by_mail: bool = False
    in_browser: bool = True

    @property
    def is_nothing(self) -> bool:
        """Nothing is told, whatever the ways are."""
        return not (self.on_start or self.on_end or self.on_failure)


NOTHING = Wanted()


def wanted_of(actor: Actor, job: Job | None = None) -> Wanted:
    """What the actor asked for: of this job, else of all his or her jobs."""
    row = _subscriptions(actor).filter(job=job).first()
    if row is None:
        return NOTHING
    return Wanted(row.on_start, row.on_end, row.on_failure, row.by_mail, row.in_browser)


def single_subscriptions(actor: Actor) -> TenantQuerySet[JobSubscription]:
    """Those of single jobs, the newest first."""
    rows = _subscriptions(actor).filter(job__isnull=False)
    return rows.select_related("job__cluster").order_by("-since", "-pk")


def change(*, actor: Actor, wanted: Wanted, job: Job | None = None) -> None:
    """Tell of what happens from now on. Nothing wanted: of a job the setting for all jobs counts again.

    Raises NotAllowed for another's job, BadInput for a happening without a way to tell it or for mails
    without a verified address.
    """
    require(actor, Action.VIEW)
    user = _person(actor)
    if job is not None:
        require_owner(actor, job)
    _check(user, wanted)
    with command("notifications.changed", actor=actor, target=job or user) as done:
        done.detail = {"job": job.label if job else "", "mail": wanted.by_mail and not wanted.is_nothing}
        if job is not None and wanted.is_nothing:
            _subscriptions(actor).filter(job=job).delete()
            return
        JobSubscription.objects.update_or_create(
            tenant=actor.tenant,
            user=user,
            job=job,
            # Slurm tells whole seconds
            defaults={**asdict(wanted), "since": clock.now().replace(microsecond=0)},
        )


def require_owner(actor: Actor, job: Job) -> None:
    """Raises NotAllowed for another's job."""
    if job.owner_id != _person(actor).pk:
        raise NotAllowed(_("Only the owner of a job is told of it."))


def newest(actor: Actor) -> list[Group]:
    """What happened, the newest first; the tasks of an array are one line."""
    rows = shown(actor).select_related("job__cluster", "job__owner").order_by("-at", "-pk")
    return grouped(rows[:MOST_SHOWN])


def unseen_of(actor: Actor) -> TenantQuerySet[JobNotice]:
    """What the actor has not looked at yet."""
    return shown(actor).filter(seen_at=None)


def mark_seen(*, actor: Actor) -> int:
    """The actor has read what there is; how much that was. No audit row: nobody else's business."""
    require(actor, Action.VIEW)
    _person(actor)
    return unseen_of(actor).update(seen_at=clock.now())


def _subscriptions(actor: Actor) -> TenantQuerySet[JobSubscription]:
    return JobSubscription.objects.for_actor(actor).filter(user=actor.user)


def shown(actor: Actor) -> TenantQuerySet[JobNotice]:
    """What the actor was told in the browser."""
    return JobNotice.objects.for_actor(actor).filter(user=actor.user, in_browser=True)


def _person(actor: Actor) -> User:
    if actor.user is None:
        raise NotAllowed(_("Only people are told of jobs."))
    return actor.user


def _check(user: User, wanted: Wanted) -> None:
    if wanted.is_nothing:
        return
    if not (wanted.by_mail or wanted.in_browser):
        raise BadInput(fields={"in_browser": _("Choose at least one way to be told.")})
    if wanted.by_mail and not (user.email and user.email_verified):
        told = _("Your sign-in gives no verified e-mail address, so no mail can reach you.")
        raise BadInput(fields={"by_mail": told})
