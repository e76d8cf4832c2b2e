"""What the portal holds to speak to outside systems: sealed, never shown, never logged."""

from __future__ import annotations

from django.db import models

from clusters.models.catalogue import Site
from clusters.models.cluster import Cluster
from tenants.scoping import TenantQuerySet


class SiteSecret(models.Model):
    """A credential of a site, such as the fabric controller's password; put in by an operator's command."""

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="secrets")
    name = models.SlugField(
        max_length=40, help_text="As the site's drivers ask for it, e.g. netris-password."
    )
    sealed = models.BinaryField(help_text="Sealed with portal.lib.crypto.")
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint("site", "name", name="one_site_secret_per_name")]

    def __str__(self) -> str:
        return f"{self.name} of {self.site}"


class ClusterSecret(models.Model):
    """A credential inside one cluster that a step made, such as the portal's own token there."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="secrets")
    name = models.SlugField(max_length=40)
    sealed = models.BinaryField(help_text="Sealed with portal.lib.crypto.")
    expires_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        constraints = [models.UniqueConstraint("cluster", "name", name="one_cluster_secret_per_name")]

    def __str__(self) -> str:
        return f"{self.name} of {self.cluster}"
