"""How far each provisioning step is, and what happened on the way."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters.models.cluster import Cluster
from tenants.scoping import TenantQuerySet


class StepStatus(models.TextChoices):
    """Of one step in one cluster."""

    WAITING = "waiting", _("Waiting")
    PROGRESSING = "progressing", _("In progress")
    READY = "ready", _("Ready")
    STALLED = "stalled", _("Stalled")
    DRIFTED = "drifted", _("Drifted")  # it was ready; the site asks a person before it is mended
    REMOVING = "removing", _("Being removed")
    GONE = "gone", _("Removed")


class StepState(models.Model):
    """The last look at one step."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="steps")
    name = models.CharField(max_length=40)
    position = models.PositiveSmallIntegerField(help_text="Order of the plan.")
    component = models.CharField(max_length=60, help_text="Who provides it.")
    status = models.CharField(max_length=12, choices=StepStatus, default=StepStatus.WAITING)
    reason = models.CharField(max_length=60, blank=True)
    message = models.TextField(blank=True)
    hint = models.TextField(blank=True, help_text="What the operator can do; not shown to tenants.")
    facts = models.JSONField(default=dict)
    attempts = models.PositiveIntegerField(default=0, help_text="Errors in a row.")
    tries = models.PositiveIntegerField(default=0, help_text="How often something was asked for.")
    bugs = models.PositiveIntegerField(default=0, help_text="Errors that nobody foresaw; see the log.")
    waits_for = models.CharField(max_length=40, blank=True, help_text="E.g. running jobs; no deadline runs.")
    observed_at = models.DateTimeField(null=True, help_text="Last look that got an answer.")
    differences = models.JSONField(
        default=list, help_text="What is not as wanted: thing, path, wanted, found. No secrets."
    )
    mend = models.BooleanField(default=False, help_text="A person asked for the drift to be mended.")
    generation = models.PositiveIntegerField(default=0, help_text="Generation for which it was last ready.")
    since = models.DateTimeField(null=True, help_text="Of the present status.")
    started_at = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True, help_text="First seen ready.")
    deadline_at = models.DateTimeField(null=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint("cluster", "name", name="one_state_per_step")]

    def __str__(self) -> str:
        return f"{self.name}: {self.status}"


class StepEvent(models.Model):
    """One change of a step; append-only."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="step_events")
    step = models.CharField(max_length=40)
    at = models.DateTimeField(auto_now_add=True)
    status = models.CharField(max_length=12, choices=StepStatus)
    reason = models.CharField(max_length=60, blank=True)
    message = models.TextField(blank=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.step} {self.status}"
