"""How the portal reaches a cluster's Slurm, and as whom."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from clusters.models.cluster import Cluster
from tenants.models import Membership
from tenants.scoping import TenantQuerySet


class SlurmEndpoint(models.Model):
    """A cluster's slurmrestd. The key signs tokens, so it is sealed; tokens are never stored."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="slurm")
    url = models.URLField(blank=True)
    api_version = models.CharField(max_length=10, blank=True)
    release = models.CharField(max_length=20, blank=True)
    sealed_jwt_key = models.BinaryField(help_text="Sealed with portal.lib.crypto.")
    # what the observer saw last
    observed_at = models.DateTimeField(null=True, blank=True)
    unreachable_since = models.DateTimeField(null=True, blank=True)
    trouble = models.CharField(max_length=300, blank=True)
    failures = models.PositiveIntegerField(default=0)
    next_observe_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    jobs_pending = models.PositiveIntegerField(default=0)
    jobs_running = models.PositiveIntegerField(default=0)
    source = models.CharField(max_length=20, blank=True, help_text="Which list the last look used.")

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    def __str__(self) -> str:
        return f"Slurm of {self.cluster}"


class IdentityKind(models.TextChoices):
    """For whom an account is."""

    MEMBER = "member", _("Member")
    OBSERVER = "observer", _("Observer")
    ADMINISTRATOR = "administrator", _("Administrator")


class SlurmIdentity(models.Model):
    """A unix name, uid and gid in one cluster, made from our ids and never reused."""

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="identities", verbose_name=_("cluster")
    )
    membership = models.ForeignKey(
        Membership,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="slurm_identities",
        verbose_name=_("membership"),
    )
    kind = models.CharField(max_length=13, choices=IdentityKind, verbose_name=_("kind"))
    name = models.CharField(max_length=30, unique=True, verbose_name=_("name"))
    uid = models.PositiveIntegerField(unique=True, verbose_name=_("uid"))
    gid = models.PositiveIntegerField(verbose_name=_("gid"))
    active = models.BooleanField(default=True, verbose_name=_("active"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("made at"))

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        verbose_name = _("Slurm identity")
        verbose_name_plural = _("Slurm identities")
        constraints = [
            models.UniqueConstraint("cluster", "membership", name="one_identity_per_member"),
            models.UniqueConstraint(
                fields=["cluster", "kind"], condition=~Q(kind="member"), name="one_identity_per_own_use"
            ),
        ]

    def __str__(self) -> str:
        return self.name
