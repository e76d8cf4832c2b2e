"""One whole order of the embedded default: real Slurm, real control plane; grown, spoilt, mended, removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusters.clients.kube.models import Ref
from clusters.drivers.local import plane_access, planes
from clusters.kube import kinds
from clusters.models import Allocation, Cluster, Machine, MachineState, Phase, Site, StepState, StepStatus
from clusters.provisioning import context
from clusters.services.clusters import mend, terminate_cluster
from tests.builders import actor_for, make_tenant
from tests.cases import case
from tests.clusters.builders import approve, make_order, operator, owner_of, resize
from tests.clusters.drivers.lab import Lab
from tests.clusters.drivers.test_daemons import of_uid
from tests.clusters.test_real_build import reconcile_until
from tests.clusters.test_real_kube import download, is_whole, kubectl, lab, site  # noqa: F401  # fixtures
from tests.kube import assets
from tests.kube.vendors import Hands

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@case("U38")
def test_a_whole_order(lab: Lab, site: Site, tmp_path: Path) -> None:  # noqa: F811
    assets.link(lab.settings.programs)
    site.settings = {**site.settings, "mend": "ask"}
    site.save()
    tenant = make_tenant()

    # planned: every step says what it will make, and nothing exists
    order = make_order(tenant, site, nodes=2)
    assert order.plan is not None
    planned = {step["name"]: step for step in order.plan["steps"]}
    assert {"machines", "control-plane", "nodes", "slurm", "smoke"} <= set(planned)
    assert [name for name, step in planned.items() if not step["makes"]] in ([], ["identity"])
    cluster = approve(order).cluster
    assert cluster is not None
    assert not (lab.settings.clusters / cluster.external_name).exists()
    reconcile_until(cluster, is_whole)
    config = download(fresh(cluster), tmp_path)
    assert nodes(config) == machines(cluster)

    # grown
    approve(resize(fresh(cluster), train=3))
    reconcile_until(cluster, lambda row: is_whole(row) and row.observed_generation == row.generation)
    assert len(machines(cluster)) == 3
    assert nodes(config) == machines(cluster)

    # changed by hand: shown, left until an operator says so, then mended
    spoilt = min(machines(cluster))
    portal = plane_access.portal_client(context.step_context(fresh(cluster)))
    hands, ref = Hands(portal), Ref(kinds.NODE, spoilt)
    assert hands.patch(ref, {"metadata": {"labels": {"freehold.io/pool": "theirs"}}})
    Cluster.objects.filter(pk=cluster.pk).update(next_reconcile_at=fresh(cluster).created_at)
    reconcile_until(cluster, lambda row: row.phase == Phase.DEGRADED)
    state = StepState.objects.get(cluster=cluster, name="nodes")
    assert (state.status, state.reason) == (StepStatus.DRIFTED, "Drifted")
    assert spoilt in state.message
    found = portal.get(ref)
    assert found is not None
    assert found["metadata"]["labels"]["freehold.io/pool"] == "theirs"
    mend(actor=operator(), cluster=fresh(cluster))
    reconcile_until(cluster, is_whole)
    found = portal.get(ref)
    assert found is not None
    assert found["metadata"]["labels"]["freehold.io/pool"] == "train"
    portal.close()

    # gone
    spec = context.cluster_spec(fresh(cluster))
    root = planes.of(lab.settings.data, spec).root
    assert planes.find(root, spec.gid)
    owner = actor_for(owner_of(tenant), tenant)
    terminate_cluster(actor=owner, cluster=fresh(cluster), typed_name=cluster.name, at_once=True)
    reconcile_until(cluster, lambda row: row.phase == Phase.DELETED)
    assert not (lab.settings.clusters / cluster.external_name).exists()
    assert planes.find(root, spec.gid) == {}
    assert not any(of_uid(account.uid) for account in spec.accounts)
    assert set(Machine.objects.values_list("state", flat=True)) == {MachineState.FREE}
    assert kubectl(config, "get", "nodes").returncode != 0


def fresh(cluster: Cluster) -> Cluster:
    """As its row is now."""
    return Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)


def machines(cluster: Cluster) -> set[str]:
    """Those that the cluster holds."""
    rows = Allocation.objects.filter(pool__cluster=cluster, released_at=None)
    return set(rows.values_list("machine__name", flat=True))


def nodes(config: Path) -> set[str]:
    """What kubectl lists with the downloaded file."""
    done = kubectl(config, "get", "nodes", "-o", "name")
    return {name.removeprefix("node/") for name in done.stdout.split()}
