"""What a worker saw last in a cluster whose jobs are Kubernetes objects."""

from __future__ import annotations

from django.db import models

from clusters.models.cluster import Cluster
from tenants.scoping import TenantQuerySet


class WorkloadSnapshot(models.Model):
    """Volcano's queues and jobs of one cluster, as of `seen_at`; shapes as in clusters.kube.volcano."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="workloads")
    queues = models.JSONField(default=list)
    jobs = models.JSONField(default=list)
    jobs_all = models.PositiveIntegerField(default=0, help_text="Not all are kept of very many.")
    seen_at = models.DateTimeField(null=True, blank=True)
    unreachable_since = models.DateTimeField(null=True, blank=True)
    trouble = models.CharField(max_length=60, blank=True, help_text="A CamelCase reason.")
    failures = models.PositiveIntegerField(default=0)
    next_look_at = models.DateTimeField(null=True, blank=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    def __str__(self) -> str:
        return f"workloads of {self.cluster}"
