"""Pages of nodes and partitions: what is free, what runs there, who waits."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.listings import LicenseRecord, ReservationRecord
from clusters.models import Cluster
from jobs.models import Partition
from jobs.observer.inventory import Listed, read_inventory, save_inventory
from portal.lib import clock
from tenants.models import Role, User
from tests.builders import make_member, make_tenant, sign_in
from tests.cases import case
from tests.jobs.builders import fill_nodes, make_job
from tests.jobs.fakes import FakeSlurm
from tests.jobs.names import ODD_NAMES

pytestmark = pytest.mark.django_db


def page_of(client: Client, cluster: Cluster, path: str, status: int = 200) -> str:
    answer = client.get(f"/t/aurora-lab/clusters/{cluster.pk}/{path}")
    assert answer.status_code == status
    return answer.content.decode()


def names_in(page: str) -> list[str]:
    return re.findall(r'class="main-cell"><a href="[^"]+">([^<]*)<', page)


def figure(page: str, title: str) -> str:
    """What stands under a title, without tags."""
    found = re.search(rf"<dt>{title}</dt><dd>(.*?)</dd>", page)
    assert found, title
    return " ".join(re.sub(r"<[^>]+>", "", found[1]).split())


def test_a_node_tells_its_state_and_what_runs_on_it(client: Client, alice: User, cluster: Cluster) -> None:
    make_job(cluster, alice, name="here", nodes="n0")
    make_job(cluster, alice, name="on-both", nodes="n[0-1]")
    make_job(cluster, alice, name="there", nodes="n1")
    make_job(cluster, alice, name="like-it", nodes="n01")
    make_job(cluster, alice, name="over", nodes="n0", state="COMPLETED")
    fill_nodes(cluster)
    sign_in(client, alice)
    page = page_of(client, cluster, "nodes/n0/")
    assert sorted(names_in(page)) == ["here", "on-both"]
    assert figure(page, "GPUs busy") == "2 of 2"
    drained = page_of(client, cluster, "nodes/n1/")
    assert "GPU 1: Xid 79" in drained
    assert "No job starts here until it is back" in drained
    assert sorted(names_in(drained)) == ["on-both", "there"]
    assert "nodes/n0/" in page_of(client, cluster, "nodes/")


def test_partitions_count_what_is_free_and_who_waits(client: Client, alice: User, cluster: Cluster) -> None:
    Partition.objects.create(
        cluster=cluster, name="debug", state="DOWN", max_nodes=1, observed_at=clock.now()
    )
    make_job(cluster, alice, name="runs", nodes="n0")
    make_job(cluster, alice, name="waits", state="PENDING", task_count=4)
    make_job(cluster, alice, name="either", state="PENDING", partition="train,debug")
    fill_nodes(cluster)
    sign_in(client, alice)
    listed = page_of(client, cluster, "partitions/")
    rows = re.findall(r"<tr>\s*<td class=\"main-cell\">.*?</tr>", listed, re.DOTALL)
    cells = [re.findall(r'<td class="num"[^>]*>([^<]*)<', row) for row in rows]
    assert names_in(listed) == ["train", "debug"]
    assert [row[:4] for row in cells] == [["1/2", "0/2", "1", "5"], ["0/0", "0/0", "0", "1"]]
    train = page_of(client, cluster, "partitions/train/")
    assert figure(train, "GPUs free") == "0 of 2"
    assert figure(train, "Waiting") == "5"
    assert set(names_in(train)) == {"waits", "either"}
    debug = page_of(client, cluster, "partitions/debug/")
    assert names_in(debug) == ["either"]
    assert "No node was seen in it yet" in debug
    assert figure(debug, "Most nodes of a job") == "1"
    # the queue's filter finds it under both
    for name in ("train", "debug"):
        queue = page_of(client, cluster, f"queue/?partition={name}&state=pending")
        assert "either" in names_in(queue), name


def test_what_slurm_does_not_tell_of_is_not_there(client: Client, alice: User, cluster: Cluster) -> None:
    sign_in(client, alice)
    for path in ("nodes/n9/", "partitions/none/", "nodes/%3Cimg%3E/"):
        page_of(client, cluster, path, 404)
    page_of(client, cluster, "nodes/n0/")
    eve = make_member(make_tenant("Other", owner=None), Role.OWNER)
    sign_in(client, eve)
    for path in ("nodes/n0/", "partitions/", "partitions/train/"):
        assert client.get(f"/t/other/clusters/{cluster.pk}/{path}").status_code == 404


def test_reservations_and_licences_are_as_last_seen(
    client: Client, alice: User, cluster: Cluster, slurm: FakeSlurm
) -> None:
    sign_in(client, alice)
    assert "Not seen yet" in page_of(client, cluster, "reservations/")
    listed = read_inventory(slurm)
    assert listed is not None
    save_inventory(cluster, listed, seen_at=clock.now())
    assert "No nodes are reserved" in page_of(client, cluster, "reservations/")
    begin = int(clock.now().timestamp()) - 60
    told = Listed(
        reservations=(
            ReservationRecord(
                name="<b>now</b>", start_time=begin, end_time=begin + 3600, nodes="n0", users="bob"
            ),
            ReservationRecord(name="later", start_time=begin + 7200, flags=frozenset({"MAINT"})),
        ),
        licenses=(LicenseRecord(name="matlab", total=20, used=5, free=15),),
    )
    save_inventory(cluster, told, seen_at=clock.now())
    page = page_of(client, cluster, "reservations/")
    assert "&lt;b&gt;now&lt;/b&gt;" in page
    assert "</svg>Active</span>" in page
    assert "</svg>Waiting</span>" in page
    assert re.search(r'>matlab</td><td class="num"[^>]*>15</td><td class="num"[^>]*>5</td>', page)


def test_a_slurm_that_does_not_tell_them_changes_nothing(slurm: FakeSlurm) -> None:
    assert read_inventory(slurm) is not None
    slurm.fault = errors.NotReachable("no answer")
    assert read_inventory(slurm) is None


def test_a_cluster_without_partitions_says_when_they_come(
    client: Client, alice: User, cluster: Cluster
) -> None:
    cluster.partitions.all().delete()
    assert "No partition was seen yet" in page_of(sign_in(client, alice), cluster, "partitions/")


@pytest.mark.parametrize("path", ["nodes/n0/", "partitions/", "partitions/train/"])
def test_more_jobs_need_no_more_queries(client: Client, alice: User, cluster: Cluster, path: str) -> None:
    sign_in(client, alice)
    counts = []
    for _ in range(2):
        for state in ("RUNNING", "PENDING") * 3:
            make_job(cluster, alice, state=state, nodes="n0" if state == "RUNNING" else "")
        page_of(client, cluster, path)
        with CaptureQueriesContext(connection) as queries:
            page_of(client, cluster, path)
        counts.append(len(queries))
    assert counts[0] == counts[1]


@case("U03")
@pytest.mark.parametrize("name", ODD_NAMES[4:6])
def test_names_of_jobs_are_escaped_there_too(
    client: Client, alice: User, cluster: Cluster, name: str
) -> None:
    make_job(cluster, alice, name=name, nodes="n0")
    make_job(cluster, alice, name=name, state="PENDING")
    sign_in(client, alice)
    for path in ("nodes/n0/", "partitions/train/"):
        page = page_of(client, cluster, path)
        assert "<img src=x" not in page
        assert len(names_in(page)) == 1
