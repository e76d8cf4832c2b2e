"""What a job took of what it was given, its steps, and how far each cluster's accounting has been read."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters.models import Cluster
from tenants.models.people import TenantOwned
from tenants.scoping import TenantQuerySet


class JobUse(TenantOwned):
    """Of one job that ran and ended, as accounting has it. Null: the cluster does not gather it."""

    job = models.OneToOneField("jobs.Job", on_delete=models.CASCADE, related_name="use")
    elapsed_seconds = models.PositiveBigIntegerField(_("ran (seconds)"))
    cpus = models.PositiveIntegerField(_("CPUs"))
    cpu_seconds = models.FloatField(_("CPU time (seconds)"), null=True)
    memory_mib = models.PositiveBigIntegerField(
        _("memory (MiB)"), null=True, help_text=_("The most at once.")
    )
    memory_given_mib = models.PositiveBigIntegerField(null=True, help_text="Of one node.")
    gpu_percent = models.FloatField(_("GPU use (%)"), null=True)
    # columns of their own: the list of the worst is read by them
    idle_cpu_seconds = models.FloatField(null=True, help_text="Given, and not used.")
    cpu_percent = models.FloatField(null=True)
    memory_percent = models.FloatField(null=True)
    ended_at = models.DateTimeField()

    class Meta:
        verbose_name, verbose_name_plural = _("use of a job"), _("uses of jobs")
        indexes = [
            models.Index(
                fields=["tenant", "-idle_cpu_seconds", "-id"],
                name="uses_by_idle",
                condition=models.Q(idle_cpu_seconds__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"Use of {self.job_id}"

    @property
    def idle_cpu_hours(self) -> float | None:
        """What one CPU would have been idle."""
        return None if self.idle_cpu_seconds is None else self.idle_cpu_seconds / 3600


class JobSteps(TenantOwned):
    """Slurm's steps of one job, as accounting has them: see jobs.history.steps. None of a job that waits."""

    job = models.OneToOneField("jobs.Job", on_delete=models.CASCADE, related_name="told_steps")
    steps = models.JSONField(default=list)
    count = models.PositiveIntegerField(help_text="Of very many only the first and the last are kept.")

    class Meta:
        verbose_name, verbose_name_plural = _("steps of a job"), _("steps of jobs")

    def __str__(self) -> str:
        return f"Steps of {self.job_id}"


class HistoryCursor(models.Model):
    """How far a cluster's accounting was read; one worker at a time reads on."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="history")
    read_until = models.DateTimeField(help_text="By the controller's clock.")
    window_seconds = models.PositiveIntegerField(help_text="Read at once; less where that took too long.")
    next_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    trouble = models.CharField(max_length=300, blank=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    def __str__(self) -> str:
        return f"History of {self.cluster}"
