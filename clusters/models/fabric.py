"""Which addresses each cluster has at its site, so that no two clusters there ever have the same."""

from __future__ import annotations

from django.db import models

from clusters.models.catalogue import Site
from clusters.models.cluster import Cluster
from tenants.scoping import TenantQuerySet


class FabricPrefix(models.Model):
    """A prefix of the site's pool, given to one cluster until it is deleted.

    That no two overlap at a site is a rule of the database (an exclusion constraint of migration 0008).
    """

    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="prefixes")
    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="prefix")
    prefix = models.CharField(max_length=18, help_text="E.g. 10.96.16.0/20.")
    given_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    def __str__(self) -> str:
        return f"{self.prefix} for {self.cluster}"
