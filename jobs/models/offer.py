"""What a cluster offers to jobs, as Slurm last told of it."""

from __future__ import annotations

from django.db import models

from clusters.models import Cluster
from tenants.scoping import TenantQuerySet


class Partition(models.Model):
    """A partition as Slurm last told of it: what the submit form offers and checks against."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="partitions")
    name = models.CharField(max_length=200)
    state = models.CharField(max_length=40)
    is_default = models.BooleanField(default=False)
    max_time_minutes = models.PositiveBigIntegerField(null=True, help_text="Null: no limit.")
    default_time_minutes = models.PositiveBigIntegerField(null=True, help_text="Null: as the most.")
    max_nodes = models.PositiveBigIntegerField(null=True, help_text="Null: no limit.")
    total_nodes = models.PositiveIntegerField(default=0)
    total_cpus = models.PositiveIntegerField(default=0)
    gpus = models.PositiveIntegerField(default=0)
    gpu_models = models.JSONField(default=list, help_text="Slurm's gres types, sorted.")
    qos = models.CharField(
        max_length=200, blank=True, default="", help_text="Whose limits hold for its jobs."
    )
    allowed_accounts = models.TextField(blank=True, default="", help_text='"a,b"; blank: all.')
    denied_accounts = models.TextField(blank=True, default="")
    allowed_qos = models.TextField(blank=True, default="", help_text='"a,b"; blank: all.')
    denied_qos = models.TextField(blank=True, default="")
    observed_at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        constraints = [models.UniqueConstraint("cluster", "name", name="one_partition_per_name")]

    def __str__(self) -> str:
        return self.name


class Inventory(models.Model):
    """Reservations and licences of a cluster as Slurm last told of them."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="inventory")
    reservations = models.JSONField(default=list)
    licenses = models.JSONField(default=list)
    observed_at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    def __str__(self) -> str:
        return f"Inventory of {self.cluster}"
