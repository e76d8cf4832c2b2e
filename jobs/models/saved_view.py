"""Lists as members like to see them."""

from __future__ import annotations

from django.db import models

from clusters.models import Cluster
from tenants.models import User
from tenants.models.people import TenantOwned


class SavedView(TenantOwned):
    """A list of jobs as a member likes to see it: the filters, the order and the columns, under a name."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_views")
    cluster = models.ForeignKey(
        Cluster,
        on_delete=models.CASCADE,
        null=True,
        help_text="Whose queue it is of; null: the list of jobs.",
    )
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000, blank=True, help_text="As it stands in the address.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint("tenant", "user", "name", name="one_view_per_name")]

    def __str__(self) -> str:
        return self.name
