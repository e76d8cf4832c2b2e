"""What changed of a job."""

from __future__ import annotations

from django.db import models

from jobs.models.job import Job
from tenants.scoping import TenantQuerySet


class JobEvent(models.Model):
    """A change of a job's state or reason, as the observer saw it; append-only."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    state = models.CharField(max_length=20)
    reason = models.CharField(max_length=200, blank=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "job__tenant"

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.state} at {self.at}"
