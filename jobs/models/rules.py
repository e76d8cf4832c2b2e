"""What a cluster's accounting allows, as slurmdbd last told of it."""

from __future__ import annotations

from django.db import models

from clusters.models import Cluster
from tenants.scoping import TenantQuerySet


class Rules(models.Model):
    """Each QOS and each account, with their limits; what was used; how far Slurm holds to it."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="rules")
    qos = models.JSONField(default=list, help_text="By name.")
    accounts = models.JSONField(default=list, help_text="By name; each with its parent.")
    used = models.JSONField(null=True, help_text="Minutes, where there is a budget. Null: not told.")
    enforces = models.JSONField(null=True, help_text="associations, limits, qos ... Null: not told.")
    max_array_size = models.PositiveIntegerField(null=True, help_text="Null: not told.")
    digest = models.CharField(max_length=64, help_text="Of what was told of QOS, accounts and users.")
    observed_at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        verbose_name_plural = "rules"

    def __str__(self) -> str:
        return f"Rules of {self.cluster}"


class UserRule(models.Model):
    """One association: a user in an account, perhaps in one partition only, with what holds there."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="user_rules")
    user = models.CharField(max_length=64)
    account = models.CharField(max_length=200)
    partition = models.CharField(max_length=200, blank=True)
    is_default = models.BooleanField(default=False)
    rule = models.JSONField(default=dict, help_text="QOS that may be asked for, the default one, limits.")

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        constraints = [
            models.UniqueConstraint("cluster", "user", "account", "partition", name="one_rule_per_user")
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.account}"
