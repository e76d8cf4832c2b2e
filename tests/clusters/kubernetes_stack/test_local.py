"""Plain Kubernetes on this machine: real control plane, simulated nodes, and nothing of Slurm's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusters.clients.kube.models import Ref
from clusters.drivers.kubernetes_stack import KubernetesSettings, KubernetesStep
from clusters.drivers.kubernetes_stack.step import QUOTA
from clusters.kube import kinds, servers
from clusters.provisioning.steps import StepContext
from tests.clusters.drivers.kube_subjects import CONCERNS, linked
from tests.clusters.drivers.lab import Lab, open_lab
from tests.contract.driver_contract import drive_away, settle

pytestmark = [pytest.mark.slow]


@pytest.fixture
def lab() -> Iterator[Lab]:
    """The local drivers, with the Kubernetes programs."""
    opened = open_lab(concerns=CONCERNS)
    yield linked(opened)
    opened.close()


def test_a_cluster_can_be_used_when_its_nodes_are_ready(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    step = KubernetesStep(KubernetesSettings(), servers.of_tenant)
    assert step.observe(ctx).exists is False
    assert settle(step, ctx).facts == {"gpus": "4"}
    client = servers.of_tenant(ctx)
    quota = client.get(Ref(QUOTA, "freehold", "default"))
    assert quota is not None
    assert quota["spec"]["hard"]["requests.nvidia.com/gpu"] == "4"
    client.delete(
        Ref(kinds.NODE, ctx.spec.pools[0].machines[0]), uid=_uid(ctx.spec.pools[0].machines[0], ctx)
    )
    seen = step.observe(ctx)
    assert (seen.ready, seen.reason, seen.message) == (False, "NodesNotReady", "1 of 2 nodes are ready.")
    drive_away(step, ctx)
    lab.take_down(ctx)


def _uid(name: str, ctx: StepContext) -> str:
    found = servers.of_tenant(ctx).get(Ref(kinds.NODE, name))
    assert found is not None
    return str(found["metadata"]["uid"])
