"""One whole order for each kind of site: planned, built, grown, spoilt, mended, removed; nothing is left."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusters.clients.kube.models import Ref
from clusters.drivers.slinky import SlinkySettings
from clusters.drivers.slinky import steps as slinky_steps
from clusters.drivers.vcluster_platform.kinds import INSTANCE
from clusters.kube import kinds, servers
from clusters.kube.gitops.installer import Installer
from clusters.kube.gitops.settings import GitOps
from clusters.kube.renderers import flux
from clusters.models import Allocation, Cluster, Machine, MachineState, Phase, StepState, StepStatus
from clusters.provisioning.registry import FACTORIES, Wanted
from clusters.provisioning.steps import Step
from clusters.services.clusters import mend, terminate_cluster
from tests.builders import actor_for, make_tenant
from tests.cases import case
from tests.clusters.builders import approve, operator, owner_of, resize
from tests.clusters.metal3.ironic import Metal3
from tests.clusters.metal3.subject import IMAGE
from tests.clusters.netris.server import USER, FakeNetris, running
from tests.kube import roles, vendor_platform
from tests.kube.fake_slurm import FakeSlurm
from tests.kube.platform_proxy import PlatformProxy, no_kubeconfig
from tests.kube.profiles import (
    Profile,
    TenantsPart,
    exporting,
    left_over,
    make_site,
    order_at,
    reach,
)
from tests.kube.server import KubeServer
from tests.kube.slinky_vendors import claims, gitops
from tests.kube.vendor_kinds import CONDITIONS, instances, projects
from tests.kube.vendors import Controller, Hands, Namespaces, Running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("kube"),
]
SLINKY = {"login": {"replicas": 1}, "charts": {"cert_manager": ""}, "home": {"storage_class": "shared"}}


def slinky(wanted: Wanted) -> tuple[Step, ...]:
    """As the registry makes it, but for the slurmrestd, which is played."""
    settings = wanted.site.settings
    return slinky_steps(
        SlinkySettings.from_site(settings),
        wanted.concerns,
        tenants=servers.of_tenant,
        gitops=servers.gitops_of(settings),
        installer=Installer(GitOps.from_site(settings)),
        reach=SLURM,
    )


SLURM = FakeSlurm()


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """The registry is the same before and after."""
    known = dict(FACTORIES)
    yield
    FACTORIES.clear()
    FACTORIES.update(known)


@pytest.fixture
def netris(tmp_path: Path) -> Iterator[FakeNetris]:
    """A fabric controller."""
    with running(tmp_path) as server:
        yield server


def server_of(server: KubeServer, url: str = "") -> dict[str, str]:
    """How a site's settings name an API server."""
    return {"server": url or server.url, "ca": server.authority.certificate.decode()}


@pytest.fixture
def at_platform(kube_server: KubeServer, platform: PlatformProxy, netris: FakeNetris) -> Iterator[Profile]:
    """vCluster Platform, Metal3, Netris, Argo CD."""
    vendor_platform.install(kube_server)
    platform.platform.kubeconfig = lambda *_: vendor_platform.kubeconfig(
        kube_server.admin, server="https://localhost:8443"
    )
    metal3 = Metal3(f"metal3-{secrets.token_hex(3)}")
    kube_server.ensure_namespace(metal3.namespace)
    for number in range(1, 5):
        metal3.add_host(Hands(kube_server.client), f"gpu-{number}")
    control = roles.access(kube_server, "control-plane").token.encode()
    settings: dict[str, Any] = {
        "platform": server_of(kube_server, platform.url),
        "control_plane": server_of(kube_server),
        "gitops": server_of(kube_server),
        "delivery": {"controller": "argo"},
        "vcluster_platform": {
            "template": vendor_platform.NAME,
            "version": "1.0.x",
            "public_address": kube_server.url,
            "parameters": {"gpuNodes": "{nodes}", "apiHost": "{host}", "vpn": "{vpn}"},
        },
        "metal3": {"namespace": metal3.namespace, "image": IMAGE},
        "netris": {
            "url": netris.url,
            "user": USER,
            "ca_file": netris.authorities,
            "site": "DC1",
            "tenant": "portal",
            "template": "gpu",
        },
        "fabric": {"pool": "10.96.16.0/20", "length": 22},
        "slinky": SLINKY,
    }

    def vendors() -> list[Controller]:
        late = instances(pace=0.05, order=tuple(reversed(CONDITIONS)))
        return [projects(), late, metal3, *gitops(), claims(), Namespaces(), TenantsPart(INSTANCE)]

    def spoilt(cluster: Cluster) -> tuple[Ref, dict[str, Any], str]:
        ref = Ref(INSTANCE, cluster.external_name, f"p-{cluster.external_name}")
        return ref, {"spec": {"templateRef": {"version": "1.1.x"}}}, "spec.templateRef.version"

    yield Profile(
        "Platform",
        {
            "machines": "metal3",
            "fabric": "netris",
            "control_plane": "vcluster_platform",
            "gitops": "gitops",
            "home": "slinky",
            "slurm": "slinky",
        },
        settings,
        vendors,
        spoilt,
        secrets={
            "platform-access-key": control,
            "control-plane-token": control,
            "argocd-token": roles.access(kube_server, "argocd").token.encode(),
            "netris-password": netris.password.encode(),
        },
        factories={"slinky": slinky},
    )
    platform.platform.kubeconfig = no_kubeconfig


@pytest.fixture
def by_flux(kube_server: KubeServer) -> Profile:
    """The vcluster chart through Flux; machines of the books only, so their way home is the VPN."""
    settings: dict[str, Any] = {
        "gitops": server_of(kube_server),
        "delivery": {"controller": "flux"},
        "vcluster_gitops": {"public_address": kube_server.url, "kubernetes": "v1.35.6"},
        "slinky": {**SLINKY, "home": None},
    }

    def vendors() -> list[Controller]:
        return [exporting(kube_server), *gitops(), claims(), Namespaces(), TenantsPart(flux.RELEASE)]

    def spoilt(cluster: Cluster) -> tuple[Ref, dict[str, Any], str]:
        ref = Ref(flux.RELEASE, f"vc-{cluster.external_name}", "argocd")
        values = {"controlPlane": {"service": {"spec": {"type": "NodePort"}}}}
        return ref, {"spec": {"values": values}}, "spec.values.controlPlane.service.spec.type"

    return Profile(
        "Flux",
        {"control_plane": "vcluster_gitops", "gitops": "gitops", "slurm": "slinky"},
        settings,
        vendors,
        spoilt,
        secrets={"argocd-token": roles.access(kube_server, "argocd").token.encode()},
        factories={"slinky": slinky},
    )


@pytest.fixture(params=["at_platform", "by_flux"])
def profile(request: pytest.FixtureRequest) -> Profile:
    """Each kind of site."""
    found: Profile = request.getfixturevalue(request.param)
    return found


@case("U38")
def test_a_whole_order(profile: Profile, kube_server: KubeServer) -> None:
    site = make_site(profile, [f"gpu-{number}" for number in range(1, 5)])
    tenant = make_tenant()
    with Running(kube_server.client, profile.vendors()):
        # planned: every step with its objects, and nothing exists
        order = order_at(site, tenant, profile.stack)
        assert order.plan is not None
        planned = {step["name"]: step for step in order.plan["steps"]}
        assert {"control-plane", "access", "gitops", "slurm"} <= set(planned)
        assert all(step["makes"] for step in planned.values())
        assert all(step["unseen"] == "" for step in planned.values()), planned
        touched = {change["thing"] for step in planned.values() for change in step["changes"]}
        assert len(touched) > 5

        cluster = approve(order).cluster
        assert cluster is not None
        assert left_over(kube_server, cluster) == []
        cluster = reach(cluster, Phase.READY)
        made = left_over(kube_server, cluster)
        listed = {change["thing"] for step in planned.values() for change in step["changes"]}
        listed = {thing for thing in listed if planned_here(thing)}
        assert listed <= set(made), "something was planned and not made"

        # grown
        approve(resize(cluster, train=3))
        cluster = reach(cluster, Phase.READY)
        assert Allocation.objects.filter(pool__cluster=cluster, released_at=None).count() == 3
        assert cluster.slurm.url

        # changed by hand: shown with both values, left until an operator says so, then mended
        ref, change, path = profile.spoilt(cluster)
        before = kube_server.client.get(ref)
        assert before is not None
        assert Hands(kube_server.client).patch(ref, change)
        cluster = reach(cluster, Phase.DEGRADED)
        state = StepState.objects.get(cluster=cluster, name="control-plane")
        assert state.status == StepStatus.DRIFTED
        (difference,) = state.differences
        assert (difference["thing"], difference["path"]) == (str(ref), path)
        assert {difference["wanted"], difference["found"]} == {at(before, path), at(change, path)}
        mend(actor=operator(), cluster=cluster)
        cluster = reach(cluster, Phase.READY)
        mended = kube_server.client.get(ref)
        assert at(mended, path) == at(before, path)

        # gone
        owner = actor_for(owner_of(tenant), tenant)
        terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
        cluster = reach(cluster, Phase.DELETED)
        assert left_over(kube_server, cluster) == []
        assert Machine.objects.filter(state=MachineState.FREE).count() == 4
    assert kube_server.client.get(Ref(kinds.NAMESPACE, "freehold")) is None


def planned_here(thing: str) -> bool:
    """Objects of the API server that bear our mark; machines and the fabric are not made."""
    return thing.partition(" ")[0] not in {"BareMetalHost", "VPC", "server", "ACL"} and "/" in thing


def at(value: Any, path: str) -> Any:
    """What stands at a path."""
    for name in path.split("."):
        value = value[name]
    return value
