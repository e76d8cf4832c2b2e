"""Project and instance through the vCluster Platform: brought under the contract of Kubernetes drivers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest, Ref
from clusters.drivers.vcluster_platform import InstanceStep, PlatformSettings
from clusters.drivers.vcluster_platform.kinds import LICENSE
from clusters.kube.step import Clients
from clusters.provisioning.steps import StepContext
from tests.contract.kube.driven import FLAVOR, Driven
from tests.kube import vendor_platform
from tests.kube.server import KubeServer
from tests.kube.vendor_kinds import CONDITIONS, instances, projects
from tests.kube.vendors import Controller

SECTION = {
    "template": vendor_platform.NAME,
    "version": "1.0.x",
    "cluster": "loft-cluster",
    "owner": {"team": "portal-operators"},
    "public_address": "https://{cluster}.k8s.example.com",
    "labels": {"billing.example.com/account": "{tenant}"},
    "parameters": {"gpuNodes": "{nodes}", "apiHost": "{host}", "vpn": "{vpn}"},
}
SETTINGS = {
    "vcluster_platform": SECTION,
    "vcluster_nodes": {"node_types": {FLAVOR.name: "dc1-metal.hgx-h100"}},
}


class _Vendor(KubeClient):
    """A Platform in memory, for golden files: the template and the licence, and nothing else."""

    def __init__(self) -> None:
        """No server."""

    def get(self, ref: Ref) -> Manifest | None:
        """See KubeClient."""
        return vendor_platform.licence() if ref.kind == LICENSE else vendor_platform.template()

    def list(self, kind: Kind, **_: object) -> tuple[Manifest, ...]:
        """See KubeClient."""
        raise AssertionError(f"golden files list nothing: {kind}")


def step(clients: Clients, *, has_fabric: bool = True) -> InstanceStep:
    """The step of a site with a fabric, or without one."""
    settings = PlatformSettings.from_site(SETTINGS, has_fabric=has_fabric)
    return InstanceStep(settings, lambda ctx: _Vendor() if ctx.settings == OFFLINE else clients(ctx))


def step_with_vpn(clients: Clients) -> InstanceStep:
    """The same for a site whose machines reach their control plane by VPN."""
    return step(clients, has_fabric=False)


step.__name__ = step_with_vpn.__name__ = "InstanceStep"
OFFLINE = {"site": "offline"}


def before(server: KubeServer | None, ctx: StepContext) -> StepContext:
    """The Platform's own people made a template."""
    if server is None:
        return replace(ctx, settings=OFFLINE)
    vendor_platform.install(server)
    return ctx


def platform(server: KubeServer) -> Iterable[Controller]:
    """The Platform, whose conditions come in no order."""
    del server
    return [projects(), instances(pace=0.02, order=tuple(reversed(CONDITIONS)))]


DRIVEN = (
    Driven("platform", step, "control-plane", before=before, vendors=platform, platform=True),
    Driven("platform-vpn", step_with_vpn, "control-plane", before=before, vendors=platform, variant=True),
)
