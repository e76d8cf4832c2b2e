"""What a worker learnt of a site that the order form needs, so that no page asks outside."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters.models.catalogue import Flavor, Site


class SiteFacts(models.Model):
    """The parameters that the template of a site's control planes asks orders for."""

    site = models.OneToOneField(Site, on_delete=models.CASCADE, related_name="facts", verbose_name=_("site"))
    template = models.JSONField(default=dict, help_text="The template's parameters, as the outside has them.")
    version = models.CharField(max_length=40, blank=True, help_text="Of the template.")
    fixed = models.JSONField(default=list, help_text="Parameters that the site gives itself.")
    seen_at = models.DateTimeField(null=True, blank=True)
    hidden = models.CharField(
        max_length=500, blank=True, help_text="Why nothing can be ordered; for operators."
    )
    trouble = models.CharField(max_length=500, blank=True, help_text="Why the last look saw nothing.")

    def __str__(self) -> str:
        return f"facts of {self.site}"


class SiteStock(models.Model):
    """How many nodes of a flavor the outside has, at a site where it picks the machines; as last seen."""

    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="stock")
    flavor = models.ForeignKey(Flavor, on_delete=models.CASCADE, related_name="+")
    total = models.PositiveIntegerField()
    claimed = models.PositiveIntegerField(help_text="By anybody, ours included.")
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint("site", "flavor", name="one_stock_per_flavor")]

    def __str__(self) -> str:
        return f"{self.flavor} at {self.site}: {self.claimed} of {self.total} claimed"
