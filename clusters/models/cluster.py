"""A cluster as it is wanted and as it was last seen."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from clusters.models.catalogue import Flavor, Machine, Site
from clusters.models.order import Stack
from tenants.ids import short_name
from tenants.models import Tenant
from tenants.models.people import TenantOwned
from tenants.scoping import TenantQuerySet


class Phase(models.TextChoices):
    """Summary of a cluster."""

    PENDING = "pending", _("Pending")
    PROVISIONING = "provisioning", _("Being built")
    READY = "ready", _("Ready")
    DEGRADED = "degraded", _("Degraded")
    DELETING = "deleting", _("Being removed")
    DELETED = "deleted", _("Removed")
    FAILED = "failed", _("Failed")


class Cluster(TenantOwned):
    """One isolated cluster of one tenant. Desired columns and pools carry a generation."""

    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="clusters", verbose_name=_("tenant")
    )
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="clusters", verbose_name=_("site"))
    name = models.CharField(max_length=40, verbose_name=_("name"))
    stack = models.CharField(max_length=20, choices=Stack, default=Stack.SLURM)
    parameters = models.JSONField(default=dict, help_text="As ordered; see Order.parameters.")
    gid = models.PositiveIntegerField(unique=True, null=True, help_text="Group of the cluster's accounts.")
    wanted = models.BooleanField(default=True, help_text="False: to be removed.")
    paused = models.BooleanField(default=False, verbose_name=_("paused"))
    generation = models.PositiveIntegerField(default=1)
    observed_generation = models.PositiveIntegerField(default=0)
    phase = models.CharField(max_length=12, choices=Phase, default=Phase.PENDING, verbose_name=_("phase"))
    reason = models.CharField(max_length=60, blank=True, verbose_name=_("reason"))
    message = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ready_at = models.DateTimeField(null=True, blank=True, help_text="First seen ready.")
    deleted_at = models.DateTimeField(null=True, blank=True)
    # the engine's lease: a stale worker's writes filter on lease_epoch and hit no row
    lease_until = models.DateTimeField(null=True, blank=True)
    lease_epoch = models.PositiveBigIntegerField(default=0)
    next_reconcile_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0, help_text="Temporary errors in a row.")
    quiet_passes = models.PositiveIntegerField(default=0, help_text="Passes in a row that changed nothing.")
    wake = models.PositiveBigIntegerField(default=0, help_text="Raised by whoever wants a look soon.")
    observed_at = models.DateTimeField(
        null=True, blank=True, help_text=_("End of the last whole pass."), verbose_name=_("observed at")
    )
    terminate_at = models.DateTimeField(null=True, blank=True, help_text="Removal is scheduled for then.")

    class Meta:
        verbose_name = _("cluster")
        verbose_name_plural = _("clusters")
        constraints = [
            models.UniqueConstraint(
                "tenant", "name", condition=Q(deleted_at=None), name="one_live_cluster_per_name"
            )
        ]
        indexes = [
            models.Index(fields=["next_reconcile_at"], name="clusters_due"),
            models.Index(fields=["terminate_at"], name="clusters_to_end", condition=~Q(terminate_at=None)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def external_name(self) -> str:
        """The name outside: c- and 12 base32 characters, derived from the id."""
        return f"c-{short_name(self.id)}"

    @property
    def has_slurm(self) -> bool:
        """Whether jobs are submitted to it: its stack is Slurm."""
        return self.stack == Stack.SLURM

    @property
    def has_volcano(self) -> bool:
        """Whether it has Volcano's queues."""
        return self.stack == Stack.VOLCANO

    @property
    def was_ready(self) -> bool:
        """Seen ready at least once: from then on nothing of it is removed but by termination."""
        return self.ready_at is not None

    @property
    def is_charged(self) -> bool:
        """From first ready until removed; a build that failed never was."""
        return self.was_ready and self.deleted_at is None

    @property
    def is_live(self) -> bool:
        """Wanted, and neither removed nor given up."""
        return self.wanted and self.phase not in {Phase.DELETED, Phase.FAILED}


class NodePool(models.Model):
    """Nodes of one flavor in a cluster; in Slurm one partition."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="pools")
    name = models.CharField(max_length=30)
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT, related_name="+")
    count = models.PositiveSmallIntegerField(help_text="Wanted; 0: the pool was removed.")
    price_per_hour = models.DecimalField(max_digits=12, decimal_places=2, help_text="Of one node, as agreed.")

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        constraints = [models.UniqueConstraint("cluster", "name", name="one_pool_per_name")]

    def __str__(self) -> str:
        return self.name


class AllocationStage(models.TextChoices):
    """How a machine leaves: emptied of jobs first, then wiped and given back. Free only after that."""

    HELD = "held", _("In use")
    LEAVING = "leaving", _("Being emptied")
    RETURNING = "returning", _("Being given back")


class Allocation(models.Model):
    """A machine in a pool. A machine belongs to at most one live pool: a database rule."""

    machine = models.ForeignKey(Machine, on_delete=models.PROTECT, related_name="allocations")
    pool = models.ForeignKey(NodePool, on_delete=models.PROTECT, related_name="allocations")
    stage = models.CharField(max_length=10, choices=AllocationStage, default=AllocationStage.HELD)
    allocated_at = models.DateTimeField(auto_now_add=True)
    released_at = models.DateTimeField(null=True, blank=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "pool__cluster__tenant"

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "machine", condition=Q(released_at=None), name="one_live_pool_per_machine"
            )
        ]

    def __str__(self) -> str:
        return f"{self.machine} in {self.pool}"


class Node(models.Model):
    """A node as Slurm last told of it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    name = models.CharField(max_length=100)
    partitions = models.JSONField(default=list)
    state = models.CharField(max_length=60)
    available = models.BooleanField(default=False, help_text="Neither down nor drained.")
    reason = models.CharField(max_length=300, blank=True)
    cpus = models.PositiveIntegerField(default=0)
    cpus_used = models.PositiveIntegerField(default=0)
    memory_mib = models.PositiveBigIntegerField(default=0)
    gpus = models.PositiveIntegerField(default=0)
    gpus_used = models.PositiveIntegerField(default=0)
    observed_at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        constraints = [models.UniqueConstraint("cluster", "name", name="one_node_per_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_unheard(self) -> bool:
        """Slurm was started and the node has not reported yet: it is neither up nor down."""
        return self.state.startswith("UNKNOWN")


class PortBlock(models.Model):
    """A block of loopback ports that a local cluster has for itself."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="port_block")
    base = models.PositiveIntegerField(unique=True)

    def __str__(self) -> str:
        return f"{self.base} for {self.cluster}"
