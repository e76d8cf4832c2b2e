"""What a cluster's pools were to be, generation by generation, so that a change can be taken back."""

from __future__ import annotations

from django.db import models

from clusters.models.cluster import Cluster
from clusters.models.order import Order
from tenants.scoping import TenantQuerySet


class DesiredPools(models.Model):
    """The wanted pools as of one generation; written when they change, never changed."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="desired")
    generation = models.PositiveIntegerField(help_text="From this one on, until the next row.")
    order = models.ForeignKey(
        Order, on_delete=models.PROTECT, null=True, related_name="+", help_text="Which asked for it."
    )
    restores = models.BooleanField(default=False, help_text="The order was taken back: as it was before.")
    pools = models.JSONField(help_text="name, flavor, count, price_per_hour and machines (ids) of each.")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        ordering = ["generation"]
        constraints = [models.UniqueConstraint("cluster", "generation", name="one_wish_per_generation")]

    def __str__(self) -> str:
        return f"{self.cluster} generation {self.generation}"
