"""Registers the live kinds of orders and clusters, and follows who belongs to a tenant."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ClustersConfig(AppConfig):
    """What."""

    name = "clusters"
    verbose_name = _("Orders and clusters")

    def ready(self) -> None:
        """Models can be imported from here on."""
        from clusters import access, kinds  # noqa: F401, PLC0415  # register the live kinds
        from clusters.services import identities, kubeconfigs  # noqa: PLC0415
        from clusters.words import stored_order, stored_policy  # noqa: PLC0415
        from tenants import audit, facts, hooks  # noqa: PLC0415

        hooks.membership_changed.append(identities.membership_changed)
        hooks.tenant_changed.append(identities.tenant_changed)
        hooks.membership_changed.append(kubeconfigs.membership_changed)
        hooks.tenant_changed.append(kubeconfigs.tenant_changed)
        hooks.keys_changed.append(identities.keys_changed)
        hooks.accounts.append(identities.accounts_of)
        facts.THINGS["order"] = stored_order
        facts.VALUES["policy"] = stored_policy
        audit.register_verbs(
            {
                "order.submitted": _("ordered"),
                "order.cancelled": _("cancelled the order"),
                "order.approved": _("approved the order"),
                "order.rejected": _("rejected the order"),
                "site.secret_set": _("put in a credential of the site"),
                "order.fulfilled": _("fulfilled the order"),
                "cluster.termination_ordered": _("ordered the end of"),
                "cluster.removal_began": _("began to remove"),
                "cluster.retried": _("tried again to build"),
                "cluster.mended": _("had the drift mended of"),
                "cluster.paused": _("paused"),
                "cluster.join_shown": _("was shown how machines join"),
                "kubeconfig.issued": _("downloaded a kubeconfig of"),
                "kubeconfig.revoked": _("revoked a kubeconfig of"),
                "cluster.resumed": _("resumed"),
                "cluster.given_up": _("gave up building or changing"),
            },
            areas={
                "order": _("orders"),
                "cluster": _("clusters"),
                "site": _("sites"),
                "kubeconfig": _("kubeconfigs"),
            },
        )
