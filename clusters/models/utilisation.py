"""How busy a cluster was, minute by minute: what the plots are drawn from."""

from __future__ import annotations

from django.db import models

from clusters.models.cluster import Cluster
from tenants.scoping import TenantQuerySet


class UtilisationSample(models.Model):
    """What a look found, at most one a minute; no row where nobody looked or the cluster was silent."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="samples")
    at = models.DateTimeField(help_text="The minute, without seconds.")
    nodes = models.PositiveIntegerField(help_text="Neither down nor drained.")
    gpus = models.PositiveIntegerField(help_text="Of those nodes.")
    gpus_used = models.PositiveIntegerField()
    running = models.PositiveIntegerField(help_text="Jobs; each task of an array counts.")
    pending = models.PositiveIntegerField()

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        constraints = [models.UniqueConstraint("cluster", "at", name="one_sample_a_minute")]
        indexes = [models.Index(fields=["at"], name="samples_by_age")]

    def __str__(self) -> str:
        return f"{self.cluster_id} at {self.at:%Y-%m-%d %H:%M}: {self.gpus_used} of {self.gpus} GPUs"
