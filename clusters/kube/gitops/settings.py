"""Who installs charts at a site: the section "gitops" of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusters.clients.kube.models import Access
from clusters.kube.section import NAME, Section
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError

SECTION = "gitops"
CREDENTIAL = "site.argocd-token"  # of deploy/rbac/argocd.yaml, also where Flux is the controller
ARGO, APPLICATION_SET, FLUX = "argo", "applicationset", "flux"
CONTROLLERS = (ARGO, APPLICATION_SET, FLUX)
DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class GitOps:
    """Validated. The controller runs in the provider's cluster, in which the portal has one namespace."""

    controller: str
    server: str
    ca: bytes
    namespace: str = "argocd"
    token_minutes: int = 30 * DAY  # of the controller's token in a tenant's cluster; renewed at half

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> GitOps:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = Section.of(settings, SECTION, {"controller", "server", "ca", "namespace", "token_minutes"})
        ca = section.text("ca")
        if "BEGIN CERTIFICATE" not in ca:
            raise section.bad("ca", "holds no certificate")
        return cls(
            controller=section.one_of("controller", CONTROLLERS),
            server=section.url("server"),
            ca=ca.encode(),
            namespace=section.text("namespace", "argocd", form=NAME),
            token_minutes=section.count("token_minutes", 30 * DAY, least=60, most=365 * DAY),
        )

    def access(self, ctx: StepContext) -> Access:
        """The portal's own way to the controller's cluster. Raises PermanentError CredentialMissing."""
        token = ctx.secrets.get(CREDENTIAL, b"")
        if not token:
            raise PermanentError(
                "CredentialMissing",
                f"The site has no secret {CREDENTIAL.removeprefix('site.')}.",
                hint="Put it in with `manage.py site_secret`.",
            )
        return Access(self.server, self.ca, token=token.decode().strip())
