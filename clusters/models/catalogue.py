"""What the provider has and offers: sites, machines, flavors, offerings, quotas."""

from __future__ import annotations

import uuid

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import Tenant
from tenants.models.people import TenantOwned


class Site(models.Model):
    """A data centre or region, with the drivers that serve it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=40, unique=True)
    drivers = models.JSONField(
        help_text='By concern, e.g. {"machines": "metal3", "fabric": "netris", "slurm": "slinky"}.'
    )
    settings = models.JSONField(default=dict, help_text="Settings of the drivers; no secrets.")
    task_queue = models.CharField(
        max_length=40, default="default", help_text="Celery queue that reconciles here."
    )
    active = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.name


class Flavor(models.Model):
    """A kind of node."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=40, unique=True)
    gpu_model = models.CharField(
        max_length=60, blank=True, help_text="As people call it, e.g. NVIDIA A100 80 GB."
    )
    gpu_type = models.SlugField(max_length=20, blank=True, help_text="Slurm's gres type, e.g. a100.")
    gpu_count = models.PositiveSmallIntegerField(default=0)
    cpus = models.PositiveSmallIntegerField(validators=[MinValueValidator(1)])
    memory_mib = models.PositiveIntegerField(validators=[MinValueValidator(256)])
    network = models.CharField(max_length=100, blank=True, help_text="NICs, e.g. 8 x 400 Gb/s.")

    def __str__(self) -> str:
        return self.name


class MachineState(models.TextChoices):
    """A machine is free only after its wipe was seen."""

    FREE = "free", _("Free")
    IN_USE = "in_use", _("In use")
    WIPING = "wiping", _("Being wiped")
    BROKEN = "broken", _("Broken")


class Machine(models.Model):
    """One host of a site's inventory."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="machines")
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT, related_name="machines")
    name = models.SlugField(max_length=60)
    state = models.CharField(max_length=10, choices=MachineState, default=MachineState.FREE)
    wiped_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint("site", "name", name="one_machine_per_name")]

    def __str__(self) -> str:
        return self.name


class Offering(models.Model):
    """What may be ordered at a site, and for how much."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="offerings")
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT, related_name="offerings")
    price_per_hour = models.DecimalField(max_digits=10, decimal_places=2, help_text="Of one node.")
    currency = models.CharField(max_length=3, default="EUR")
    active = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint("site", "flavor", name="one_offering_per_flavor")]

    def __str__(self) -> str:
        return str(_("%(flavor)s at %(site)s") % {"flavor": self.flavor, "site": self.site})


class Quota(TenantOwned):
    """The most nodes of a flavor that a tenant may hold; no row: no limit of its own."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="quotas")
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT, related_name="+")
    nodes = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint("tenant", "flavor", name="one_quota_per_flavor")]

    def __str__(self) -> str:
        told = {"tenant": self.tenant, "nodes": self.nodes, "flavor": self.flavor}
        return str(_("%(tenant)s: at most %(nodes)d of %(flavor)s") % told)
