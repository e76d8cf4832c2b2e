"""Usage: the same sums on the page, in the file and by API; each day gets what ran on it."""

from __future__ import annotations

import csv
import datetime as dt
import io
import time
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from clusters.models import Cluster, NodePool
from jobs.history.models import JobUse
from jobs.models import Job
from jobs.usage import counting, spans
from jobs.usage.advice import advice_of
from jobs.usage.counting import Question
from jobs.usage.spans import Span
from portal.lib import clock
from tenants.models import Role, Tenant, User
from tests.builders import actor_for, make_member, make_tenant, sign_in
from tests.cases import case
from tests.clusters.builders import owner_of
from tests.jobs.builders import make_job, make_slurm_cluster

pytestmark = pytest.mark.django_db
DAY = dt.timedelta(days=1)


@pytest.fixture
def midnight() -> dt.datetime:
    """The beginning of the day before yesterday."""
    return clock.now().astimezone(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0) - 2 * DAY


def ran(cluster: Cluster, owner: User | None, start: dt.datetime, hours: float, **columns: object) -> Job:
    """A job that ended, with two GPUs and four CPUs."""
    end = start + dt.timedelta(hours=hours)
    facts = {"state": "COMPLETED", "submit_time": start, "start_time": start, "end_time": end, **columns}
    return make_job(cluster, owner, **facts)  # type: ignore[arg-type]


def counted(tenant: Tenant, span: Span | None = None) -> counting.Counted:
    """As its owner asks."""
    actor = actor_for(owner_of(tenant), tenant)
    return counting.count(Question(actor, span or spans.default(), clock.now()))


def test_a_job_counts_on_each_day_on_which_it_ran(
    cluster: Cluster, alice: User, tenant: Tenant, midnight: dt.datetime
) -> None:
    ran(cluster, alice, midnight - dt.timedelta(hours=6), 30.5)  # 6 h, 24 h and half an hour
    found = counted(tenant)
    hours = {row.day: row.amount.gpu_hours for row in found.by["day"]}
    first = midnight.date() - DAY
    assert hours == {first: 12.0, first + DAY: 48.0, first + 2 * DAY: 1.0}
    assert (found.total.jobs, found.total.gpu_hours, found.total.cpu_hours) == (1, 61.0, 122.0)


def test_only_what_ran_in_the_span_counts(
    cluster: Cluster, alice: User, tenant: Tenant, midnight: dt.datetime
) -> None:
    ran(cluster, alice, midnight - DAY, 2)  # the day before
    ran(cluster, alice, midnight - dt.timedelta(hours=1), 2)  # half in, half out
    make_job(cluster, alice, state="PENDING", start_time=midnight)  # an estimate
    ran(cluster, alice, midnight, 1, state="CANCELLED", start_time=None)  # never began
    span = Span(midnight.date(), midnight.date())
    assert counted(tenant, span).total.gpu_hours == 2.0


def test_what_runs_counts_until_now_and_what_was_lost_until_it_was_missed(
    cluster: Cluster, alice: User, tenant: Tenant, midnight: dt.datetime
) -> None:
    now = clock.now()
    # of a running job the end is that of its time limit
    make_job(cluster, alice, start_time=now - dt.timedelta(hours=1), end_time=now + DAY, gpus=1)
    lost = midnight + dt.timedelta(hours=3)
    ran(cluster, alice, midnight, 1, state="ENDED", end_time=None, observed_at=lost, gpus=1)
    assert counted(tenant).total.gpu_hours == pytest.approx(4.0, abs=0.01)


def test_each_kind_adds_up_to_the_whole(
    cluster: Cluster, alice: User, tenant: Tenant, midnight: dt.datetime
) -> None:
    bob, other = make_member(tenant, Role.MEMBER), make_slurm_cluster(tenant, name="gpu-b")
    for place, (owner, where) in enumerate([(alice, cluster), (bob, cluster), (bob, other), (None, other)]):
        ran(where, owner, midnight, place + 1, account=f"a{place % 2}", partition="train")
    ran(cluster, alice, midnight, 1, gpus=None, cpus=None, partition="")
    found = counted(tenant)
    for kind in counting.KINDS:
        rows = found.by[kind]
        assert sum(row.amount.gpu_hours for row in rows) == pytest.approx(found.total.gpu_hours), kind
        assert sum(row.amount.cpu_hours for row in rows) == pytest.approx(found.total.cpu_hours), kind
    assert found.by["member"][0].owner == bob.pk
    assert {row.partition for row in found.by["partition"]} == {"train", ""}


def test_a_job_costs_its_share_of_its_nodes(
    cluster: Cluster, alice: User, tenant: Tenant, midnight: dt.datetime
) -> None:
    pool = NodePool.objects.select_related("flavor").get(cluster=cluster)
    NodePool.objects.filter(pk=pool.pk).update(price_per_hour=Decimal("8.00"))
    gpus, cpus = pool.flavor.gpu_count, pool.flavor.cpus
    ran(cluster, alice, midnight, 2, partition=pool.name, gpus=gpus, cpus=1)
    assert counted(tenant).total.cost == Decimal("16.00")
    ran(cluster, alice, midnight, 1, partition=pool.name, gpus=0, cpus=cpus)
    assert counted(tenant).total.cost == Decimal("24.00")
    ran(cluster, alice, midnight, 1, partition="nobody-sells-this", gpus=8)
    assert counted(tenant).total.cost == Decimal("24.00")


def test_others_see_nothing_of_it(
    cluster: Cluster, alice: User, tenant: Tenant, midnight: dt.datetime, client: Client
) -> None:
    ran(cluster, alice, midnight, 2)
    other = make_tenant("Boreas")
    assert counted(other).total.jobs == 0
    assert counted(tenant).total.jobs == 1
    sign_in(client, owner_of(other))
    assert client.get(f"/t/boreas/usage/?cluster={cluster.pk}").status_code == 404
    sign_in(client, alice)
    assert client.get(f"/t/aurora-lab/usage/?cluster={cluster.pk}").status_code == 200


def test_the_page_shows_money_to_those_who_order_only(
    cluster: Cluster, alice: User, tenant: Tenant, midnight: dt.datetime, client: Client
) -> None:
    ran(cluster, alice, midnight, 3)
    sign_in(client, alice)
    page = client.get("/t/aurora-lab/usage/").content.decode()
    assert "GPU-hours" in page
    assert "Cost of the nodes" not in page
    assert "€" not in page
    sign_in(client, owner_of(tenant))
    page = client.get("/t/aurora-lab/usage/").content.decode()
    assert "Cost of the nodes" in page
    assert str(alice) in page


def test_before_the_first_job_it_says_what_will_appear(
    tenant: Tenant, cluster: Cluster, client: Client
) -> None:
    sign_in(client, owner_of(tenant))
    for address in ("usage/", "usage/idle/"):
        page = client.get(f"/t/aurora-lab/{address}").content.decode()
        assert 'class="empty"' in page
        assert "here" in page


def test_days_that_cannot_be_are_refused_beside_the_form(tenant: Tenant, client: Client) -> None:
    sign_in(client, owner_of(tenant))
    for query in ("since=2026-02-01&until=2026-01-01", "since=2020-01-01&until=2026-01-01", "since=soon"):
        answer = client.get(f"/t/aurora-lab/usage/?{query}")
        assert answer.status_code == 200
        assert 'role="alert"' in answer.content.decode()


def read_file(client: Client, query: str = "") -> list[dict[str, str]]:
    answer = client.get(f"/t/aurora-lab/usage/file/?{query}")
    assert answer["Content-Type"].startswith("text/csv")
    assert "attachment" in answer["Content-Disposition"]
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text)))


@case("U03")
def test_the_file_has_every_line_and_no_formula(
    cluster: Cluster, alice: User, tenant: Tenant, midnight: dt.datetime, client: Client
) -> None:
    ran(cluster, alice, midnight, 25, account="=1+1")
    ran(cluster, None, midnight, 1, user_name="@cmd")
    sign_in(client, owner_of(tenant))
    rows = read_file(client)
    assert len(rows) == 3
    assert {row["account"] for row in rows} == {"'=1+1", ""}
    assert {row["user_name"] for row in rows if not row["member"]} == {"'@cmd"}
    assert sum(float(row["gpu_hours"]) for row in rows) == pytest.approx(counted(tenant).total.gpu_hours)
    assert all("cost" in row for row in rows)
    sign_in(client, alice)
    assert all("cost" not in row for row in read_file(client))


def use_of(job: Job, *, cpu_seconds: float, seconds: int = 3600, cpus: int = 4) -> JobUse:
    given = seconds * cpus
    return JobUse.objects.create(
        tenant_id=job.tenant_id,
        job=job,
        elapsed_seconds=seconds,
        cpus=cpus,
        cpu_seconds=cpu_seconds,
        memory_mib=512,
        memory_given_mib=4096,
        idle_cpu_seconds=given - cpu_seconds,
        cpu_percent=100 * cpu_seconds / given,
        memory_percent=12.5,
        ended_at=clock.now() - dt.timedelta(minutes=1),
    )


def test_the_worst_come_first_and_the_job_page_says_what_to_ask_for(
    cluster: Cluster, alice: User, tenant: Tenant, client: Client
) -> None:
    good, bad, short = (
        make_job(cluster, alice, state="COMPLETED", name=name) for name in ("good", "bad", "short")
    )
    use_of(good, cpu_seconds=14000)
    use_of(bad, cpu_seconds=100)
    use_of(short, cpu_seconds=0, seconds=5)
    sign_in(client, alice)
    page = client.get("/t/aurora-lab/usage/idle/").content.decode()
    assert page.index(">bad<") < page.index(">good<")
    assert ">short<" not in page
    told = client.get(f"/t/aurora-lab/jobs/{bad.pk}/").content.decode()
    assert "Most of its CPUs were idle" in told
    assert "512" in told
    assert (
        "Used of what was given"
        not in client.get(
            f"/t/aurora-lab/jobs/{make_job(cluster, alice, state='COMPLETED').pk}/"
        ).content.decode()
    )


def test_advice_is_given_only_where_something_was_seen() -> None:
    assert advice_of(JobUse(elapsed_seconds=3600, cpus=4)) == []
    assert advice_of(JobUse(elapsed_seconds=5, cpus=4, cpu_percent=1.0)) == []
    assert len(advice_of(JobUse(elapsed_seconds=3600, cpus=4, cpu_percent=1.0, memory_percent=99.0))) == 2
    assert advice_of(JobUse(elapsed_seconds=3600, cpus=1, cpu_percent=1.0)) == []


def fill(cluster: Cluster, alice: User, midnight: dt.datetime, count: int) -> None:
    """Copies of one job, an hour apart."""
    model = ran(cluster, alice, midnight, 1)
    jobs = []
    for number in range(count):
        start = midnight - dt.timedelta(minutes=number)
        jobs.append(
            Job(
                tenant_id=model.tenant_id,
                cluster=cluster,
                owner=alice,
                identity=model.identity,
                user_name=model.user_name,
                slurm_job_id=900_000 + number,
                name="train",
                partition=f"p{number % 40}",
                account=f"a{number % 50}",
                state="COMPLETED",
                gpus=1,
                cpus=4,
                submit_time=start,
                start_time=start,
                end_time=start + dt.timedelta(hours=2),
                observed_at=start,
            )
        )
    Job.objects.bulk_create(jobs, batch_size=1000)


@pytest.mark.matrix
def test_more_jobs_need_no_more_queries_and_hardly_more_time(
    cluster: Cluster, alice: User, tenant: Tenant, midnight: dt.datetime, client: Client
) -> None:
    sign_in(client, owner_of(tenant))

    def look() -> tuple[int, float]:
        client.get("/t/aurora-lab/usage/")
        began = time.perf_counter()
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/t/aurora-lab/usage/").status_code == 200
        return len(queries), time.perf_counter() - began

    fill(cluster, alice, midnight, 9)
    few, _ = look()
    Job.objects.all().delete()
    fill(cluster, alice, midnight, 9_999)
    many, seconds = look()
    assert many == few == QUERIES
    assert seconds < 10  # under one on a machine that does nothing else


QUERIES = 15  # the frame's and the right to look included
