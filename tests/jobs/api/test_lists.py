"""Filters, order, folded lines and saved views by API."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from clusters.models import Cluster
from portal.lib import clock
from tenants.models import Role, Tenant, User
from tests.api.calls import make_token, send
from tests.builders import make_member
from tests.cases import case
from tests.jobs.builders import make_array, make_job

pytestmark = pytest.mark.django_db
HERE = "/api/v1/t/aurora/"


@pytest.fixture
def token(alice: User, tenant: Tenant) -> str:
    return make_token(alice, tenant)


def ask(token: str, method: str, path: str, *, status: int = 200, **body: Any) -> Any:
    answer = send(token, method, HERE + path, **body)
    assert answer.status_code == status, answer.content
    return answer.json() if answer.content else None


def test_filters_and_order(tenant: Tenant, alice: User, cluster: Cluster, token: str) -> None:
    now = clock.now()
    for name, columns in (
        ("b-plain", {"submit_time": now - dt.timedelta(hours=1)}),
        ("c-debug", {"partition": "debug", "gpus": 0}),
        ("a-paid", {"account": "grant-7", "gpus": 8}),
    ):
        make_job(cluster, alice, name=name, **columns)

    def names(query: str) -> list[str]:
        return [row["name"] for row in ask(token, "get", f"jobs/?{query}")["items"]]

    assert names("sort=name") == ["a-paid", "b-plain", "c-debug"]
    assert names("sort=-gpus")[0] == "a-paid"
    assert names("partition=debug") == ["c-debug"]
    assert names("account=grant-7") == ["a-paid"]
    assert names("gpus=without") == ["c-debug"]
    assert names(f"user={alice.pk}&sort=submitted")[0] == "b-plain"
    moment = (now - dt.timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert names(f"until={moment}") == ["b-plain"]
    assert set(names(f"since={moment}")) == {"a-paid", "c-debug"}
    ask(token, "get", "jobs/?sort=luck", status=400)
    queue = ask(token, "get", f"clusters/{cluster.pk}/queue/?partition=debug&sort=name")
    assert [row["name"] for row in queue["items"]] == ["c-debug"]


def test_a_cursor_goes_on_in_the_same_order(
    tenant: Tenant, alice: User, cluster: Cluster, token: str
) -> None:
    for number in range(5):
        make_job(cluster, alice, name=f"job-{number}")
    seen: list[str] = []
    path = "jobs/?sort=-name&limit=2"
    while path:
        page = ask(token, "get", path)
        seen += [row["name"] for row in page["items"]]
        path = (page["next"] or "").partition(HERE)[2]
    assert seen == [f"job-{number}" for number in (4, 3, 2, 1, 0)]


@case("U12")
def test_each_task_is_an_item_unless_lines_are_asked_for(
    tenant: Tenant, alice: User, cluster: Cluster, token: str
) -> None:
    line = make_array(cluster, alice)
    assert len(ask(token, "get", "jobs/")["items"]) == 8  # seven tasks that started, and the rest
    (folded,) = ask(token, "get", "jobs/?folded=true")["items"]
    assert folded["id"] == str(line.pk)
    assert folded["line_state"] == "RUNNING"
    assert folded["states"] == {"PENDING": 3, "RUNNING": 1, "COMPLETED": 5, "FAILED": 1}
    assert len(ask(token, "get", "jobs/?state=failed")["items"]) == 1
    assert len(ask(token, "get", "jobs/?state=failed&folded=true")["items"]) == 1
    assert len(ask(token, "get", f"clusters/{cluster.pk}/queue/")["items"]) == 2


def test_a_waiting_job_comes_with_an_advice(
    tenant: Tenant, alice: User, cluster: Cluster, token: str
) -> None:
    job = make_job(cluster, alice, state="PENDING", reason="QOSMaxJobsPerUserLimit")
    told = ask(token, "get", f"jobs/{job.pk}/")
    assert told["said"] == "Its submitter's jobs together have reached the limit for running jobs."
    assert told["advice"].startswith("It starts when running jobs")


def test_views_are_kept_renamed_and_forgotten(
    tenant: Tenant, alice: User, cluster: Cluster, token: str
) -> None:
    made = ask(token, "post", "views/", status=201, body={"name": "mine", "query": "state=failed&junk=1"})
    assert (made["query"], made["path"]) == ("state=failed", "/t/aurora/jobs/?state=failed")
    queue = ask(
        token, "post", "views/", status=201, body={"name": "q", "query": "", "cluster": str(cluster.pk)}
    )
    assert queue["path"] == f"/t/aurora/clusters/{cluster.pk}/queue/"
    assert ask(token, "patch", f"views/{made['id']}/", body={"name": "ours"})["name"] == "ours"
    ask(token, "patch", f"views/{made['id']}/", status=400, body={"name": "q"})
    assert [row["name"] for row in ask(token, "get", "views/")["items"]] == ["ours", "q"]
    other = make_token(make_member(tenant, Role.ADMIN), tenant)
    assert ask(other, "get", "views/")["items"] == []
    ask(other, "delete", f"views/{made['id']}/", status=403)
    ask(token, "delete", f"views/{made['id']}/", status=204)
    ask(token, "delete", f"views/{made['id']}/", status=404)
