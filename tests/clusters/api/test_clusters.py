"""Clusters by API: what they are, what is inside, and their end."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.models import Cluster, Node, Offering, Phase, Site, SlurmEndpoint, StepEvent, StepState
from portal.lib import clock
from tenants.models import Role, Tenant
from tests.api.calls import make_token, send
from tests.builders import make_member
from tests.clusters.builders import make_cluster, make_site

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
HERE = "/api/v1/t/aurora/"


@pytest.fixture(autouse=True)
def site(world: object) -> Site:
    return make_site(machines=8)


@pytest.fixture
def cluster(tenant: Tenant) -> Cluster:
    return make_cluster(tenant, phase=Phase.READY)


def ask(token: str, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
    answer = send(token, method, HERE + path, body)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_clusters_are_listed_with_their_pools(tenant: Tenant, token: str, cluster: Cluster) -> None:
    gone = make_cluster(tenant, name="old", phase=Phase.DELETED)
    found = ask(token, "get", "clusters/")["items"]
    assert [row["name"] for row in found] == ["gpu-a"]
    assert found[0]["pools"] == [{"name": "train", "flavor": "a100-4", "count": 2, "price_per_hour": "12.50"}]
    assert found[0]["external_name"] == cluster.external_name
    with_removed = ask(token, "get", "clusters/?removed=true")["items"]
    assert {row["id"] for row in with_removed} == {str(cluster.pk), str(gone.pk)}


def test_a_cluster_counts_its_nodes(token: str, cluster: Cluster) -> None:
    for number, available in enumerate((True, True, False)):
        Node.objects.create(
            cluster=cluster,
            name=f"n{number}",
            state="IDLE",
            available=available,
            partitions=["train"],
            observed_at=clock.now(),
        )
    found = ask(token, "get", f"clusters/{cluster.pk}/")
    assert (found["nodes_seen"], found["nodes_available"], found["phase"]) == (3, 2, "ready")
    nodes = ask(token, "get", f"clusters/{cluster.pk}/nodes/?limit=2")
    assert [row["name"] for row in nodes["items"]] == ["n0", "n1"]
    assert nodes["next"]


def test_steps_and_events_are_told_without_the_operators_hint(token: str, cluster: Cluster) -> None:
    StepState.objects.filter(cluster=cluster).delete()
    for position, name in enumerate(("machines", "slurm")):
        StepState.objects.create(
            cluster=cluster, name=name, position=position, component="x", hint="Only for operators."
        )
    StepEvent.objects.create(cluster=cluster, step="slurm", status="stalled", reason="NoPorts")
    steps = send(token, "get", f"{HERE}clusters/{cluster.pk}/steps/")
    assert [row["name"] for row in steps.json()["items"]] == ["machines", "slurm"]
    assert b"operators" not in steps.content
    events = ask(token, "get", f"clusters/{cluster.pk}/events/")["items"]
    assert (events[0]["step"], events[0]["status"], events[0]["reason"]) == ("slurm", "stalled", "NoPorts")


def test_slurm_is_told_without_its_key_and_address(tenant: Tenant, token: str, cluster: Cluster) -> None:
    answer = send(token, "get", f"{HERE}clusters/{cluster.pk}/slurm/")
    found = answer.json()
    assert (found["api_version"], found["release"]) == ("v0.0.38", "22.05.8")
    assert found["account"].startswith("fh")
    assert found["cluster_name"] == cluster.external_name
    assert b"127.0.0.1" not in answer.content
    assert "key" not in str(found)
    viewer = make_token(make_member(tenant, Role.VIEWER), tenant)
    assert ask(viewer, "get", f"clusters/{cluster.pk}/slurm/")["account"] is None
    SlurmEndpoint.objects.all().delete()
    assert "no Slurm" in ask(token, "get", f"clusters/{cluster.pk}/slurm/", status=404)["detail"]


def test_a_cluster_is_ended_by_its_typed_name(token: str, cluster: Cluster) -> None:
    path = f"clusters/{cluster.pk}/terminate/"
    assert ask(token, "post", path, {"confirm": "gpu-b"}, status=400)["errors"].keys() == {"confirm"}
    order = ask(token, "post", path, {"confirm": "gpu-a"}, status=201)
    assert (order["kind"], order["state"]) == ("terminate", "approved")
    assert ask(token, "get", f"clusters/{cluster.pk}/")["terminate_at"]
    ask(token, "post", path, {"confirm": "gpu-a"}, status=409)
    ask(token, "post", f"orders/{order['id']}/cancel/")
    assert ask(token, "get", f"clusters/{cluster.pk}/")["terminate_at"] is None
    ask(token, "post", path, {"confirm": "gpu-a", "at_once": True}, status=201)
    assert ask(token, "get", f"clusters/{cluster.pk}/")["phase"] == "deleting"


def test_a_cluster_shrinks_at_once_and_grows_by_approval(token: str, cluster: Cluster, site: Site) -> None:
    path = f"clusters/{cluster.pk}/resize/"

    def resize(key: str, status: int = 201, **body: Any) -> Any:
        answer = send(token, "post", HERE + path, body, key=key)
        assert answer.status_code == status, answer.content
        return answer.json()

    made = resize("grow", counts={"train": 3})
    assert (made["kind"], made["state"], made["pools"][0]["count_before"]) == ("resize", "submitted", 2)
    assert resize("grow", counts={"train": 3})["id"] == made["id"]
    resize("grow", 422, counts={"train": 4})
    resize("other", 409, counts={"train": 1})
    ask(token, "post", f"orders/{made['id']}/cancel/")
    assert resize("shrink", counts={"train": 1})["state"] == "approved"


def test_a_resize_is_refused_by_field(token: str, cluster: Cluster, site: Site) -> None:
    offering = str(Offering.objects.get(site=site).pk)
    for number, (body, fields) in enumerate(
        (
            ({"counts": {"train": 2}}, {""}),
            ({"counts": {"train": 0}}, {""}),
            ({"counts": {"gone": 1}}, {"counts.gone"}),
            ({"counts": {"train": 65}}, {"counts.train"}),
            ({"new": [{"name": "-", "offering": offering, "count": 1}]}, {"new.0.name"}),
            ({"new": [{"name": "more", "offering": str(cluster.pk), "count": 1}]}, {"new.0.offering"}),
            ({"new": [{"name": "more", "offering": offering, "count": 60}]}, {"new.0.count"}),
        )
    ):
        answer = send(token, "post", f"{HERE}clusters/{cluster.pk}/resize/", body, key=f"k{number}")
        assert answer.status_code == 400, answer.content
        assert set(answer.json()["errors"]) == fields
