"""An order is a request; a cluster is a thing."""

from __future__ import annotations

import uuid

from django.core.validators import MaxValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters.models.catalogue import Flavor, Site
from tenants.models import Tenant, User
from tenants.models.people import TenantOwned


class OrderKind(models.TextChoices):
    """What is asked for."""

    CREATE = "create", _("New cluster")
    RESIZE = "resize", _("Resize")
    RENEW = "renew", _("Renew")
    TERMINATE = "terminate", _("Terminate")


class OrderState(models.TextChoices):
    """Allowed moves stand in clusters.services.moves."""

    DRAFT = "draft", _("Draft")
    SUBMITTED = "submitted", _("Waiting for approval")
    APPROVED = "approved", _("Approved, under way")
    FULFILLED = "fulfilled", _("Fulfilled")
    REJECTED = "rejected", _("Rejected")
    CANCELLED = "cancelled", _("Cancelled")
    FAILED = "failed", _("Failed")


OPEN_STATES = (OrderState.DRAFT, OrderState.SUBMITTED, OrderState.APPROVED)


class Stack(models.TextChoices):
    """The software that runs in the cluster."""

    SLURM = "slurm", "Slurm"
    KUBERNETES = "kubernetes", "Kubernetes"
    VOLCANO = "volcano", _("Kubernetes with Volcano")


class Order(TenantOwned):
    """A tenant's request, with the price and the plan as they were agreed."""

    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="orders", verbose_name=_("tenant")
    )
    kind = models.CharField(
        max_length=10, choices=OrderKind, default=OrderKind.CREATE, verbose_name=_("kind")
    )
    state = models.CharField(
        max_length=10, choices=OrderState, default=OrderState.DRAFT, verbose_name=_("state")
    )
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="+", verbose_name=_("site"))
    stack = models.CharField(max_length=20, choices=Stack, default=Stack.SLURM)
    cluster = models.ForeignKey(
        "clusters.Cluster", on_delete=models.PROTECT, null=True, blank=True, related_name="orders"
    )
    cluster_name = models.CharField(max_length=40)
    justification = models.TextField(max_length=2000, blank=True)
    parameters = models.JSONField(default=dict, help_text="What the site's template asked for, as text.")
    price_per_hour = models.DecimalField(max_digits=12, decimal_places=2, help_text="As agreed at submit.")
    currency = models.CharField(max_length=3, default="EUR")
    plan = models.JSONField(null=True, help_text="What each step will make; written by a task at submit.")
    plan_hash = models.CharField(max_length=64, blank=True, help_text="Blank: there is no plan to approve.")
    planned_at = models.DateTimeField(null=True, blank=True)
    key = models.UUIDField(default=uuid.uuid4, unique=True, help_text="One-time key of the form.")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_note = models.TextField(max_length=2000, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        indexes = [
            models.Index(fields=["tenant", "-created_at"], name="orders_by_tenant"),
            models.Index(fields=["state", "submitted_at"], name="orders_waiting"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.cluster_name}"

    @property
    def future_cluster_id(self) -> uuid.UUID:
        """The id of the cluster that an approved create makes: derived, so there can never be two."""
        return uuid.uuid5(self.id, "cluster")

    @property
    def is_open(self) -> bool:
        """Neither fulfilled nor ended otherwise."""
        return self.state in OPEN_STATES


class OrderLine(models.Model):
    """One pool of the order."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    pool = models.CharField(max_length=30, help_text="Name of the node pool and of its partition.")
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT, related_name="+")
    count = models.PositiveSmallIntegerField(
        validators=[MaxValueValidator(64)], help_text="Nodes asked for; 0: the pool is to go."
    )
    count_before = models.PositiveSmallIntegerField(default=0, help_text="Nodes before a resize.")
    price_per_hour = models.DecimalField(max_digits=12, decimal_places=2, help_text="Of one node, as agreed.")

    class Meta:
        constraints = [models.UniqueConstraint("order", "pool", name="one_line_per_pool")]

    def __str__(self) -> str:
        return f"{self.count} x {self.flavor} as {self.pool}"

    @property
    def added(self) -> int:
        """Nodes that it adds; below zero: that it takes away."""
        return self.count - self.count_before

    @property
    def fewer(self) -> int:
        """Nodes that it takes away."""
        return max(-self.added, 0)
