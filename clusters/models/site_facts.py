"""What a worker learnt of a site that the order form needs, so that no page asks outside."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters.models.catalogue import Site


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
