"""Accounts of members in a cluster's API server, and the kubeconfigs that were issued for them."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from clusters.models.cluster import Cluster
from tenants.models import Membership
from tenants.scoping import TenantQuerySet


class KubeRole(models.TextChoices):
    """The roles of Kubernetes that tenants' roles map to."""

    VIEW = "view", _("look")
    EDIT = "edit", _("change what is in namespaces")
    ADMIN = "cluster-admin", _("everything")


class KubeAccount(models.Model):
    """A member's ServiceAccount in one cluster; the token of a kubeconfig is one of it."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="kube_accounts")
    membership = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="kube_accounts")
    name = models.CharField(max_length=40)
    role = models.CharField(max_length=13, choices=KubeRole, help_text="As last bound.")
    due_at = models.DateTimeField(
        null=True, blank=True, help_text="The member's role or right changed: to be followed from then."
    )
    followed_at = models.DateTimeField(
        null=True, blank=True, help_text="The API server was last made to match."
    )
    attempts = models.PositiveIntegerField(default=0, help_text="Failures in a row to follow it.")

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        constraints = [models.UniqueConstraint("cluster", "membership", name="one_kube_account_per_member")]
        indexes = [models.Index("due_at", name="kube_accounts_due", condition=~models.Q(due_at=None))]

    def __str__(self) -> str:
        return self.name


class KubeconfigGrant(models.Model):
    """One kubeconfig that was issued. The file itself and its token are stored nowhere."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="kubeconfigs")
    account = models.ForeignKey(KubeAccount, on_delete=models.CASCADE, related_name="grants")
    role = models.CharField(max_length=13, choices=KubeRole)
    asked_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="As the API server said; empty: never handed out."
    )
    server = models.CharField(
        max_length=64, blank=True, help_text="Hash of the address and the CA in the file: others end it."
    )
    revoked_at = models.DateTimeField(null=True, blank=True)
    gone_at = models.DateTimeField(null=True, blank=True, help_text="The API server ended its token then.")

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        indexes = [
            models.Index(
                "revoked_at",
                name="kubeconfigs_to_end",
                condition=~models.Q(revoked_at=None) & models.Q(gone_at=None),
            )
        ]

    def __str__(self) -> str:
        return f"kubeconfig of {self.account} in {self.cluster}"

    @property
    def tenant(self) -> object:
        """Of its cluster: the audit trail asks."""
        return self.cluster.tenant

    @property
    def secret(self) -> str:
        """The name of the Secret on which its token hangs."""
        return f"freehold-{self.id.hex}"


class KubeSurvey(models.Model):
    """What members made in the API server that outlives a revoke: accounts and bindings that are not ours."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="kube_survey")
    seen_at = models.DateTimeField()
    accounts = models.JSONField(default=list)
    bindings = models.JSONField(default=list)

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    def __str__(self) -> str:
        return f"what is not ours in {self.cluster}"
