"""Who installs charts at a site: the section "delivery" of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusters.kube.site_settings import NAME, Section

SECTION = "delivery"
ARGO, APPLICATION_SET, FLUX = "argo", "applicationset", "flux"
CONTROLLERS = (ARGO, APPLICATION_SET, FLUX)
DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class GitOps:
    """Validated. The controller runs in the provider's cluster, in which the portal has one namespace."""

    controller: str
    namespace: str = "argocd"
    token_minutes: int = 30 * DAY  # of the controller's token in a tenant's cluster; renewed at half

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> GitOps:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = Section(settings, SECTION, {"controller", "namespace", "token_minutes"})
        return cls(
            controller=section.choice("controller", CONTROLLERS, ""),
            namespace=section.text("namespace", NAME, "is no name of a namespace", "argocd"),
            token_minutes=section.number("token_minutes", 30 * DAY, least=60, most=365 * DAY),
        )
