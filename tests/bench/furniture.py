"""Tenants in the database that differ only in how much there is of everything: 10, 100 and 10,000 rows."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection
from django.forms.models import model_to_dict
from django.test import Client

from clusters.models import Cluster, Order, OrderLine, OrderState, UtilisationSample
from jobs.models import Job
from portal.lib import clock
from tenants.models import AuditEvent, Tenant, User
from tests.builders import make_member, make_tenant, make_user, sign_in
from tests.clusters.builders import make_order, make_site, operator
from tests.jobs.builders import make_job, make_slurm_cluster

SIZES = (10, 100, 10_000)  # at 100 a page of every list is full
PEOPLE = 200
# of every hundred jobs: a few run, a third waits, the others ended
STATES = ("RUNNING",) * 2 + ("PENDING",) * 30 + ("COMPLETED",) * 60 + ("FAILED",) * 8
ORDERS = (OrderState.SUBMITTED, OrderState.FULFILLED, OrderState.REJECTED, *(OrderState.CANCELLED,) * 7)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the measurements need to know; ids are text, as in addresses."""

    tenants: dict[int, str]  # number of rows to slug
    clusters: dict[int, str]
    jobs: dict[int, str]  # one running job of each
    slurm_ids: dict[int, int]  # and its id in Slurm
    cookie: str
    operator: str  # an operator's cookie
    people: list[str]  # cookies of members of the largest tenant, each with a session of their own


def furnish() -> Facts:
    """Fill the database, and let PostgreSQL count what is there as it does by itself in a running portal."""
    owner = make_user("Ada")
    make_site(machines=40)
    tenants, clusters, jobs, numbers = {}, {}, {}, {}
    for size in SIZES:
        tenant = make_tenant(f"Lab of {size}", owner=owner)
        cluster = make_slurm_cluster(tenant, name=f"gpu-{size}")
        first = make_job(cluster, owner, name="train-first")
        _jobs(first, owner, size - 1)
        _orders(make_order(tenant, name="gpu-first"), size - 1)
        _events(tenant, owner, size)
        _samples(cluster, size)
        tenants[size], clusters[size], jobs[size] = tenant.slug, str(cluster.pk), str(first.pk)
        numbers[size] = first.slurm_job_id
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    otto = operator().user
    assert otto is not None
    largest = Tenant.objects.get(slug=tenants[SIZES[-1]])
    members = [make_member(largest, user=make_user(f"Member {number}")) for number in range(PEOPLE)]
    mine, theirs, *people = [
        sign_in(Client(), who).cookies["sessionid"].value for who in (owner, otto, *members)
    ]
    return Facts(tenants, clusters, jobs, numbers, mine, theirs, people)


def _jobs(like: Job, owner: User, count: int) -> None:
    columns = {
        name: value
        for name, value in model_to_dict(like).items()
        if name not in {"tenant", "cluster", "identity", "owner"}
    }
    now = clock.now()
    Job.objects.bulk_create(
        (
            Job(
                **columns
                | {
                    "slurm_job_id": like.slurm_job_id + 1 + number,
                    "name": f"train-{number}",
                    "state": (state := STATES[number * 37 % 100]),
                    "submit_time": now - dt.timedelta(minutes=number),
                    "start_time": None if state == "PENDING" else now - dt.timedelta(minutes=number),
                    "end_time": None if state in {"PENDING", "RUNNING"} else now,
                    "tenant_id": like.tenant_id,
                    "cluster_id": like.cluster_id,
                    "identity_id": like.identity_id,
                    "owner": owner,
                    "observed_at": now,
                }
            )
            for number in range(count)
        ),
        batch_size=1000,
    )


def _orders(like: Order, count: int) -> None:
    """Orders of the tenant's past; one in ten waits for an operator, but never more than ten."""
    line = like.lines.get()
    rows = [
        Order(
            tenant_id=like.tenant_id,
            site_id=like.site_id,
            state=ORDERS[number % 10] if number < 100 else OrderState.FULFILLED,
            cluster_name=f"gpu-{number}",
            price_per_hour=like.price_per_hour,
            plan=like.plan,
            plan_hash=like.plan_hash,
            planned_at=like.planned_at,
            key=uuid.uuid4(),
            created_by_id=like.created_by_id,
            submitted_at=like.submitted_at,
        )
        for number in range(count)
    ]
    Order.objects.bulk_create(rows, batch_size=1000)
    OrderLine.objects.bulk_create(
        (
            OrderLine(order=row, pool="train", flavor_id=line.flavor_id, count=2, price_per_hour=12)
            for row in rows
        ),
        batch_size=1000,
    )


def _events(tenant: Tenant, owner: User, count: int) -> None:
    AuditEvent.objects.bulk_create(
        (
            AuditEvent(
                tenant=tenant,
                verb="job.submitted",
                actor_kind="person",
                actor_user=owner,
                actor_label="Ada (ada at https://id.example.org)",
                via="web",
                target_type="jobs.submission",
                target_label=f"train-{number}",
            )
            for number in range(count)
        ),
        batch_size=1000,
    )


def _samples(cluster: Cluster, count: int) -> None:
    now = clock.now().replace(second=0, microsecond=0)
    UtilisationSample.objects.bulk_create(_minutes(cluster, now, count), batch_size=1000)


def _minutes(cluster: Cluster, now: dt.datetime, count: int) -> Iterable[UtilisationSample]:
    for number in range(count):
        at = now - dt.timedelta(minutes=number)
        yield UtilisationSample(
            cluster=cluster, at=at, nodes=2, gpus=8, gpus_used=number % 9, running=1, pending=0
        )
