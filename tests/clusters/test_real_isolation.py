"""Two tenants with real Slurm and real API servers: the isolation step passes, and it can fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.drivers.isolation import api_server, record
from clusters.isolation_words import SAID
from clusters.kube import kinds, objects, tenant
from clusters.models import (
    Allocation,
    Cluster,
    ClusterSecret,
    Phase,
    Site,
    SlurmEndpoint,
    StepState,
    StepStatus,
)
from clusters.provisioning import engine
from clusters.services import secrets
from clusters.services.clusters import retry, terminate_cluster
from portal.lib.crypto import unseal
from tenants.models import OutboxMail
from tests.builders import actor_for, make_tenant, sign_in
from tests.cases import case
from tests.clusters.builders import approved_order, operator, owner_of
from tests.clusters.drivers.lab import Lab, until
from tests.clusters.test_real_build import reconcile_until
from tests.clusters.test_real_kube import access, build, download, is_whole, lab, site
from tests.kube import assets

__all__ = ["lab", "site"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def shown(cluster: Cluster) -> dict[str, str]:
    """What the step found, without the moment."""
    facts = StepState.objects.get(cluster=cluster, name="isolation").facts
    return {name: text for name, text in facts.items() if name != "checked_at"}


def look(cluster: Cluster) -> Cluster:
    """One pass more, and then until the cluster is settled."""
    engine.reconcile(cluster.pk)
    stalled = StepState.objects.filter(cluster=cluster, name="isolation", status=StepStatus.STALLED)
    reconcile_until(cluster, lambda row: stalled.exists() or is_whole(row))
    return Cluster.objects.get(pk=cluster.pk)


def fails(cluster: Cluster, reason: str) -> StepState:
    """It does not hold: degraded, stalled for a person, and operators are told by mail."""
    OutboxMail.objects.all().delete()
    row = look(cluster)
    state = StepState.objects.get(cluster=row, name="isolation")
    assert (row.phase, row.reason, state.status) == (Phase.DEGRADED, reason, StepStatus.STALLED), state
    assert OutboxMail.objects.filter(kind="cluster.stalled", about_id=row.pk).exists()
    return state


def mended(cluster: Cluster) -> None:
    """An operator retries, and it holds again."""
    retry(actor=operator(), cluster=Cluster.objects.get(pk=cluster.pk))
    reconcile_until(cluster, is_whole)


@case("U38")
def test_the_walls_are_tried_and_a_hole_is_found(lab: Lab, site: Site, tmp_path: Path) -> None:
    assets.link(lab.settings.programs)
    one = build(make_tenant("Aurora"), site)
    assert shown(one) == {
        "api_server": "not checked, because there is no other server here at which to try it",
        "slurm": "not checked, because there is no other server here at which to try it",
        "ports": "passed: the network holds the ports of this cluster's machines and of no others",
        "nodes": "passed: the nodes are this cluster's machines and no others",
        "elsewhere": "passed: none of its machines is seen at another cluster",
    }

    # one key for two: the others' Slurm really takes the token
    other = approved_order(make_tenant("Boreas"), site, nodes=2).cluster
    assert other is not None
    door = SlurmEndpoint.objects.filter(cluster=other)
    key = bytes(door.get().sealed_jwt_key)
    door.update(sealed_jwt_key=SlurmEndpoint.objects.get(cluster=one).sealed_jwt_key)
    state = fails(other, "TokenNotRefused")
    assert one.external_name in state.hint
    assert one.external_name not in f"{state.message} {_page(other)} {_page(other, '?format=json')}"
    assert "Aurora" not in _page(other)
    assert "failed: another tenant&#x27;s Slurm took a token" in _page(other)
    door.update(sealed_jwt_key=key)
    mended(other)

    look(one)
    for cluster in (one, other):
        assert shown(cluster) == {
            **shown(one),
            "api_server": "passed: another tenant's API server answered this cluster's token with 401",
            "slurm": "passed: another tenant's Slurm refused a token signed with this cluster's key",
        }
        assert set(shown(cluster).values()) <= SAID
    page = _page(one)
    for text in ("A token at another API server", "answered this cluster&#x27;s token with 401"):
        assert text in page

    # one address for two: the API server behind it takes the token
    way = unseal(bytes(ClusterSecret.objects.get(cluster=one, name=tenant.KEPT_AS).sealed))
    theirs = unseal(bytes(ClusterSecret.objects.get(cluster=other, name=tenant.KEPT_AS).sealed))
    secrets.keep(other, tenant.KEPT_AS, way, None)
    state = fails(one, "TokenNotRefused")
    assert "API server took" in state.message
    assert "same address" in state.hint
    secrets.keep(other, tenant.KEPT_AS, theirs, None)
    mended(one)

    # a machine of another cluster's among the nodes
    stray = Allocation.objects.filter(pool__cluster=other)[0].machine.name
    client = KubeClient(access(download(one, tmp_path)))
    made = objects.manifest(kinds.NODE, stray, {})
    until(lambda: client.apply(made, kinds.NODE), what="rights have come")
    forget(one)
    state = fails(one, "MachinesDisagree")
    assert (stray in state.hint, other.external_name in state.hint) == (True, True)
    assert stray not in f"{state.message} {_page(one)}"
    found = client.get(Ref(kinds.NODE, stray))
    assert found is not None
    client.delete(Ref(kinds.NODE, stray), uid=found["metadata"]["uid"])
    mended(one)

    # the account of the probe is made again, and nothing of it outlives the cluster
    probe = client.get(api_server.ACCOUNT)
    assert probe is not None
    client.delete(api_server.ACCOUNT, uid=probe["metadata"]["uid"])
    forget(one)
    assert look(one).phase == Phase.READY
    assert client.get(api_server.ACCOUNT) is not None
    owner = actor_for(owner_of(one.tenant), one.tenant)
    terminate_cluster(actor=owner, cluster=one, typed_name=one.name, at_once=True)
    reconcile_until(one, lambda row: row.phase == Phase.DELETED)
    assert not ClusterSecret.objects.filter(cluster=one).exists()
    look(other)
    assert shown(other)["slurm"] == "not checked, because there is no other server here at which to try it"


def forget(cluster: Cluster) -> None:
    """As if an hour had passed."""
    ClusterSecret.objects.filter(cluster=cluster, name=record.KEPT_AS).delete()


def _page(cluster: Cluster, tail: str = "") -> str:
    browser = sign_in(Client(), owner_of(cluster.tenant))
    answer = browser.get(f"/t/{cluster.tenant.slug}/clusters/{cluster.pk}/isolation/{tail}")
    return answer.content.decode()
