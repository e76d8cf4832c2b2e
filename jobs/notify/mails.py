"""Mails about jobs: one at a time to each person, and of an array only now and then."""

from __future__ import annotations

import datetime as dt
import uuid

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from jobs.models import ACTIVE_STATES, Job
from jobs.notify.groups import Group, grouped
from jobs.notify.models import JobNotice
from portal.lib import clock
from portal.lib.types import Words
from tenants.models import Membership, Tenant, User
from tenants.services.outbox import queue_mail_to

QUIET = dt.timedelta(minutes=10)  # an array gathers so long, unless it is through before
BETWEEN = dt.timedelta(minutes=2)  # two mails to one person
MOST_GROUPS = 20  # lines of a mail
MOST_NOTICES = 2000  # of one mail
KIND = "job.notice"


def queue_due() -> int:
    """Write the mails that are due into the outbox; the number of them."""
    waiting = JobNotice.objects.filter(by_mail=True, mailed_at=None)
    people = list(waiting.order_by("tenant_id", "user_id").values_list("tenant_id", "user_id").distinct())
    return sum(_queue_for(tenant, user) for tenant, user in people)


def _queue_for(tenant_id: uuid.UUID, user_id: uuid.UUID) -> int:
    now = clock.now()
    mine = JobNotice.objects.filter(tenant_id=tenant_id, user_id=user_id, by_mail=True)
    last = mine.aggregate(last=Max("mailed_at"))["last"]
    if last is not None and now - last < BETWEEN:
        return 0
    with transaction.atomic():
        rows = mine.filter(mailed_at=None).select_for_update(of=("self",), skip_locked=True)
        notices = list(rows.select_related("job__cluster").order_by("-at", "-pk")[:MOST_NOTICES])
        due = [group for group in grouped(notices) if _is_due(group, now)]
        if not due:
            return 0
        # marked in the transaction of the outbox row: told once, or not told and tried again
        told = [notice.pk for group in due for notice in group.notices]
        JobNotice.objects.filter(pk__in=told).update(mailed_at=now)
        return int(_mail(Tenant.objects.get(pk=tenant_id), User.objects.get(pk=user_id), due))


def _is_due(group: Group, now: dt.datetime) -> bool:
    if group.is_one or min(notice.at for notice in group.notices) <= now - QUIET:
        return True
    job = group.job
    rest = Job.objects.filter(cluster_id=job.cluster_id, submit_time=job.submit_time, state__in=ACTIVE_STATES)
    if job.array_job_id is not None:
        return not rest.filter(array_job_id=job.array_job_id).exists()
    return not rest.filter(het_job_id=job.het_job_id).exists()


def _mail(tenant: Tenant, person: User, groups: list[Group]) -> bool:
    if not Membership.objects.working().filter(tenant=tenant, user=person).exists():
        return False  # whoever left is told nothing of the tenant any more
    first = groups[0]
    one = len(groups) == 1
    link = (
        reverse(first.page, args=[tenant.slug, first.job.pk]) if one else reverse("jobs", args=[tenant.slug])
    )
    sent = queue_mail_to(
        person,
        subject=_subject(tenant, groups),
        template="jobs.txt",
        context={
            "person": person,
            "tenant": tenant,
            "groups": groups[:MOST_GROUPS],
            "more": max(0, len(groups) - MOST_GROUPS),
            "link": settings.PUBLIC_URL + link,
            "settings_link": settings.PUBLIC_URL + reverse("notifications", args=[tenant.slug]),
        },
        kind=KIND,
        about_id=first.job.pk,
    )
    return sent is not None


class _Said:
    """What happened, in the language of whoever reads it."""

    def __init__(self, group: Group) -> None:
        self.group = group

    def __str__(self) -> str:
        return self.group.said


def _subject(tenant: Tenant, groups: list[Group]) -> Words:
    if len(groups) > 1:
        return format_lazy(_("{count} of your jobs in {tenant}"), count=len(groups), tenant=tenant.name)
    group = groups[0]
    return format_lazy(
        _("{name} ({number}) on {cluster}: {said}"),
        name=group.job.name,
        number=group.label,
        cluster=group.job.cluster.name,
        said=_Said(group),
    )
