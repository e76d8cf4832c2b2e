"""Nodes follow labels: ours are set beside those that they have, and no other is taken away."""

from __future__ import annotations

import pytest

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.drivers.gpu_operator import GpuSettings, GpuStep
from clusters.kube import kinds, objects, servers, tenant
from clusters.provisioning.steps import StepContext
from tests.contract.driver_contract import drive_away, settle
from tests.contract.kube.driven import spec_of
from tests.contract.kube.drivers.stacks import POOL, SLICED, with_nodes
from tests.kube.server import KubeServer
from tests.kube.vendor_kinds import gpu_operator
from tests.kube.vendors import Hands, Running

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]


def test_pools_are_divided_as_the_site_says(kube_server: KubeServer) -> None:
    ctx = with_nodes(kube_server, StepContext(spec=spec_of()))
    name = ctx.spec.pools[0].machines[0]
    ours = KubeClient(tenant.access_of(ctx.secrets))
    # a label that the portal itself has set before, and one of a person's
    body = objects.manifest(kinds.NODE, name, {}, labels={POOL: "gpu", "example.com/ours": "1"})
    ours.apply(body, kinds.NODE)
    theirs = {"metadata": {"labels": {"example.com/theirs": "1"}}}
    assert Hands(kube_server.client).patch(Ref(kinds.NODE, name), theirs)
    step = GpuStep(GpuSettings.from_site(SLICED), servers.of_tenant, servers.of_tenant)
    with Running(kube_server.client, [gpu_operator()]):
        step.apply(ctx)
        wrong = {"metadata": {"labels": {"nvidia.com/device-plugin.config": "exclusive"}}}
        settle(step, ctx)
        assert Hands(kube_server.client).patch(Ref(kinds.NODE, name), wrong)
        seen = step.observe(ctx)
        assert (seen.in_sync, seen.reason) == (False, "GpuSharingDiffers")
        assert name in seen.message
        settle(step, ctx)
        found = kube_server.client.get(Ref(kinds.NODE, name))
        assert found is not None
        labels = found["metadata"]["labels"]
        assert labels["nvidia.com/device-plugin.config"] == "slices-4"
        kept = {key: labels.get(key) for key in (POOL, "example.com/ours", "example.com/theirs")}
        assert kept == {POOL: "gpu", "example.com/ours": "1", "example.com/theirs": "1"}
        drive_away(step, ctx)
