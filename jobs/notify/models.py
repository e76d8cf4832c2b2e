"""What a member wants to be told of, and what there was to tell."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs.models.job import Job
from tenants.models import User
from tenants.models.people import TenantOwned


class Happening(models.TextChoices):
    """What people are told of."""

    STARTED = "started", _("started")
    ENDED = "ended", _("ended")
    FAILED = "failed", _("failed")


class JobSubscription(TenantOwned):
    """One member's wish, for one job or for all of his or her own; that of a job goes before the other."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="job_subscriptions")
    job = models.ForeignKey(
        Job,
        on_delete=models.CASCADE,
        null=True,
        related_name="subscriptions",
        help_text="Of an array or het job any row; null: all jobs of the user.",
    )
    on_start = models.BooleanField(default=False)
    on_end = models.BooleanField(default=False, help_text="However it ended.")
    on_failure = models.BooleanField(default=False)
    by_mail = models.BooleanField(default=False)
    in_browser = models.BooleanField(default=True)
    since = models.DateTimeField(help_text="What happened earlier is not told.")

    class Meta:
        verbose_name, verbose_name_plural = _("notification setting"), _("notification settings")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user", "job"], name="one_subscription_per_job", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.job or 'all jobs'}"

    def wants(self, what: Happening) -> bool:
        """Whether this happening is to be told: a failure is an end, too."""
        if what == Happening.STARTED:
            return self.on_start
        return self.on_end or (what == Happening.FAILED and self.on_failure)


class JobNotice(TenantOwned):
    """One happening told, or to be told, to one member; never twice the same."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="job_notices")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="notices")
    what = models.CharField(max_length=10, choices=Happening)
    restarts = models.PositiveIntegerField(help_text="Of the job then: a requeued one starts again.")
    at = models.DateTimeField()
    in_browser = models.BooleanField()
    seen_at = models.DateTimeField(null=True)
    by_mail = models.BooleanField()
    mailed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name, verbose_name_plural = _("notification"), _("notifications")
        constraints = [
            models.UniqueConstraint(fields=["user", "job", "what", "restarts"], name="one_notice_each")
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "-at", "-id"], name="notices_by_user"),
            models.Index(
                fields=["tenant", "user"],
                name="notices_unseen",
                condition=Q(in_browser=True, seen_at=None),
            ),
            models.Index(fields=["at"], name="notices_to_mail", condition=Q(by_mail=True, mailed_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.job}: {self.what}"
