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
    name = models.CharField(max_length=100, verbose_name=_("name"))
    slug = models.SlugField(max_length=40, unique=True, verbose_name=_("short name"))
    drivers = models.JSONField(
        help_text=_('By concern, e.g. {"machines": "metal3", "fabric": "netris", "slurm": "slinky"}.'),
        verbose_name=_("drivers"),
    )
    settings = models.JSONField(
        default=dict, help_text=_("Settings of the drivers; no secrets."), verbose_name=_("settings")
    )
    task_queue = models.CharField(
        max_length=40,
        default="default",
        help_text=_("Celery queue that reconciles here."),
        verbose_name=_("task queue"),
    )
    active = models.BooleanField(default=True, verbose_name=_("active"))

    class Meta:
        verbose_name = _("site")
        verbose_name_plural = _("sites")

    def __str__(self) -> str:
        return self.name


class Flavor(models.Model):
    """A kind of node."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=40, unique=True, verbose_name=_("name"))
    gpu_model = models.CharField(
        max_length=60,
        blank=True,
        help_text=_("As people call it, e.g. NVIDIA A100 80 GB."),
        verbose_name=_("GPU model"),
    )
    gpu_type = models.SlugField(
        max_length=20, blank=True, help_text=_("Slurm's gres type, e.g. a100."), verbose_name=_("GPU type")
    )
    gpu_count = models.PositiveSmallIntegerField(default=0, verbose_name=_("GPUs"))
    cpus = models.PositiveSmallIntegerField(validators=[MinValueValidator(1)], verbose_name=_("CPUs"))
    memory_mib = models.PositiveIntegerField(
        validators=[MinValueValidator(256)], verbose_name=_("memory, MiB")
    )
    network = models.CharField(
        max_length=100, blank=True, help_text=_("NICs, e.g. 8 x 400 Gb/s."), verbose_name=_("network")
    )

    class Meta:
        verbose_name = _("flavor")
        verbose_name_plural = _("flavors")

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
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="machines", verbose_name=_("site"))
    flavor = models.ForeignKey(
        Flavor, on_delete=models.PROTECT, related_name="machines", verbose_name=_("flavor")
    )
    name = models.SlugField(max_length=60, verbose_name=_("name"))
    state = models.CharField(
        max_length=10, choices=MachineState, default=MachineState.FREE, verbose_name=_("state")
    )
    wiped_at = models.DateTimeField(null=True, blank=True, verbose_name=_("wiped at"))

    class Meta:
        verbose_name = _("machine")
        verbose_name_plural = _("machines")
        constraints = [models.UniqueConstraint("site", "name", name="one_machine_per_name")]

    def __str__(self) -> str:
        return self.name


class Offering(models.Model):
    """What may be ordered at a site, and for how much."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="offerings", verbose_name=_("site"))
    flavor = models.ForeignKey(
        Flavor, on_delete=models.PROTECT, related_name="offerings", verbose_name=_("flavor")
    )
    price_per_hour = models.DecimalField(
        max_digits=10, decimal_places=2, help_text=_("Of one node."), verbose_name=_("price per hour")
    )
    currency = models.CharField(max_length=3, default="EUR", verbose_name=_("currency"))
    active = models.BooleanField(default=True, verbose_name=_("active"))

    class Meta:
        verbose_name = _("offering")
        verbose_name_plural = _("offerings")
        constraints = [models.UniqueConstraint("site", "flavor", name="one_offering_per_flavor")]

    def __str__(self) -> str:
        return str(_("%(flavor)s at %(site)s") % {"flavor": self.flavor, "site": self.site})


class Quota(TenantOwned):
    """The most nodes of a flavor that a tenant may hold; no row: no limit of its own."""

    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="quotas", verbose_name=_("tenant")
    )
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT, related_name="+", verbose_name=_("flavor"))
    nodes = models.PositiveIntegerField(verbose_name=_("nodes"))

    class Meta:
        verbose_name = _("quota")
        verbose_name_plural = _("quotas")
        constraints = [models.UniqueConstraint("tenant", "flavor", name="one_quota_per_flavor")]

    def __str__(self) -> str:
        told = {"tenant": self.tenant, "nodes": self.nodes, "flavor": self.flavor}
        return str(_("%(tenant)s: at most %(nodes)d of %(flavor)s") % told)
