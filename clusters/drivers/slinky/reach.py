"""How the portal reaches a slurmrestd: through the tenant's API server, or at an address of the site's."""

from __future__ import annotations

from clusters.clients.slurmrest import tokens, versions
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.versions import DiscoveredVersion
from clusters.drivers.slinky import names
from clusters.drivers.slinky.base import JWT
from clusters.drivers.slinky.settings import SlinkySettings, read_authority
from clusters.kube import servers
from clusters.kube.site_settings import filled
from clusters.provisioning.steps import EMPTY, AccountSpec, ClusterSpec, StepContext
from portal.lib.errors import PermanentError, TemporaryError
from portal.lib.http import Outside
from portal.lib.tls import trusting


class Reach:
    """Opens gateways; the one place of this driver that speaks to Slurm."""

    def __init__(self, settings: SlinkySettings) -> None:
        self._settings = settings

    def url(self, ctx: StepContext) -> str:
        """The address of slurmrestd, as the cluster's endpoint keeps it."""
        if self._settings.rest_url:
            return filled(self._settings.rest_url, ctx.spec)
        client = servers.of_tenant(ctx)
        return client.access.server + client.proxy(names.NAMESPACE, names.SERVICE, names.PORT)

    def discover(self, ctx: StepContext, account: str) -> DiscoveredVersion:
        """Which API version to speak; shows that slurmrestd and slurmctld answer."""
        url, key = self.url(ctx), ctx.secrets[JWT]
        session = self._session(ctx, url)
        return versions.discover(url, account, lambda: tokens.mint(account, key), session=session)

    def gateway(self, ctx: StepContext, account: str, version: str = "") -> SlurmGateway:
        """Slurm as one account sees it. Raises TemporaryError while the step "slurm" was not ready."""
        version = version or ctx.facts.get("slurm", EMPTY).get("api_version", "")
        if not version:
            raise TemporaryError("SlurmUnknown", "The address of the cluster's Slurm API is not known yet.")
        url, key = self.url(ctx), ctx.secrets[JWT]
        session = self._session(ctx, url)
        return RestGateway(url, version, account, lambda: tokens.mint(account, key), session=session)

    def _session(self, ctx: StepContext, url: str) -> Outside:
        if self._settings.rest_url:
            own = read_authority(self._settings.rest_ca, self._settings.rest_ca_file)
            return Outside(url, tls=trusting(own) if own else None)
        return servers.of_tenant(ctx).through(url)


def observer(spec: ClusterSpec) -> AccountSpec:
    """The account of ours that looks. Raises PermanentError NoServiceAccount."""
    for kind in ("observer", "administrator"):
        for account in spec.accounts:
            if account.kind == kind and account.active:
                return account
    raise PermanentError(
        "NoServiceAccount",
        "The cluster has no account of ours for looking at it.",
        hint="Add its observer account.",
    )
