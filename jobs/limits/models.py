"""The limits of one member's account in one cluster, and whether Slurm has them."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters.models import Cluster, SlurmIdentity
from tenants.models.people import TenantOwned


class LimitState(models.TextChoices):
    """Whether Slurm has what is wanted."""

    WANTED = "wanted", _("Being set")
    SET = "set", _("Set")
    FAILED = "failed", _("Not set")


class SlurmLimit(TenantOwned):
    """Null: no limit. Of jobs, of GPUs of all the member's jobs together, of the time of one job."""

    cluster = models.ForeignKey(
        Cluster, verbose_name=_("cluster"), on_delete=models.CASCADE, related_name="slurm_limits"
    )
    identity = models.OneToOneField(
        SlurmIdentity, verbose_name=_("account"), on_delete=models.CASCADE, related_name="limit"
    )
    running_jobs = models.PositiveIntegerField(_("jobs that run at once"), null=True, blank=True)
    submitted_jobs = models.PositiveIntegerField(_("jobs that wait or run"), null=True, blank=True)
    gpus = models.PositiveIntegerField(_("GPUs at once"), null=True, blank=True)
    wall_minutes = models.PositiveIntegerField(_("minutes of one job"), null=True, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=LimitState, default=LimitState.WANTED)
    message = models.CharField(max_length=300, blank=True)
    version = models.PositiveIntegerField(default=0, help_text="Raised by each change.")
    failures = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name, verbose_name_plural = _("limits of a member"), _("limits of members")

    def __str__(self) -> str:
        return f"Limits of {self.identity_id}"

    @property
    def is_none(self) -> bool:
        """Nothing is limited."""
        return all(getattr(self, name) is None for name in FIELDS)


FIELDS = ("running_jobs", "submitted_jobs", "gpus", "wall_minutes")
