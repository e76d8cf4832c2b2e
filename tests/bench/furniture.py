"""Tenants in the database that differ only in how much there is of everything: 10, 100 and 10,000 rows."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection
from django.forms.models import model_to_dict
from django.test import Client

from clusters.models import Cluster, Order, OrderLine, OrderState, StepEvent, UtilisationSample
from jobs.models import Job
from portal.lib import clock
from tenants.models import AuditEvent, Membership, OidcIdentity, Role, Tenant, User
from tests.builders import make_member, make_tenant, make_user, sign_in
from tests.clusters.builders import make_order, make_site, operator
from tests.jobs.builders import make_job, make_slurm_cluster

SIZES = (10, 100, 10_000)  # at 100 a page of every list is full
PEOPLE = 200
NAMED = 9  # jobs that a search by name finds, spread over all of them
# of every hundred jobs of a tenant: some run or wait, the others ended; and of a busy queue
STATES = ("RUNNING",) * 2 + ("PENDING",) * 8 + ("COMPLETED",) * 80 + ("FAILED",) * 10
WAITING = ("RUNNING",) * 4 + ("PENDING",) * 96
STEPS = ("progressing", "waiting", "ready")
ORDERS = (OrderState.SUBMITTED, OrderState.FULFILLED, OrderState.REJECTED, *(OrderState.CANCELLED,) * 7)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the measurements need to know; ids are text, as in addresses."""

    tenants: dict[int, str]  # number of rows to slug
    clusters: dict[int, str]
    jobs: dict[int, str]  # one running job of each
    slurm_ids: dict[int, int]  # and its id in Slurm
    busy_tenants: dict[int, str]  # tenants of which no job has ended: so many stand in one queue
    busy_clusters: dict[int, str]
    cookie: str
    operator: str  # an operator's cookie
    people: list[str]  # cookies of members of the largest tenant, each with a session of their own


def furnish() -> Facts:
    """Fill the database, and let PostgreSQL count what is there as it does by itself in a running portal."""
    owner = make_user("Ada")
    make_site(machines=40)
    tenants, clusters, jobs, numbers = {}, {}, {}, {}
    busy_tenants, busy_clusters = {}, {}
    others = _people(SIZES[-1] - PEOPLE - 1)
    for size in SIZES:
        tenant = make_tenant(f"Lab of {size}", owner=owner)
        cluster = make_slurm_cluster(tenant, name=f"gpu-{size}")
        first = make_job(cluster, owner, name="train-first")
        _jobs(first, owner, size - 1, STATES)
        _orders(make_order(tenant, name="gpu-first"), size - 1)
        _events(tenant, owner, size)
        _samples(cluster, size)
        _steps(cluster, size)
        _join(tenant, others[: size - 1])
        busy = make_tenant(f"Queue of {size}", owner=owner)
        crowded = make_slurm_cluster(busy, name=f"busy-{size}")
        _jobs(make_job(crowded, owner, name="train-first"), owner, size - 1, WAITING)
        busy_tenants[size], busy_clusters[size] = busy.slug, str(crowded.pk)
        tenants[size], clusters[size], jobs[size] = tenant.slug, str(cluster.pk), str(first.pk)
        numbers[size] = first.slurm_job_id
    otto = operator().user
    assert otto is not None
    largest = Tenant.objects.get(slug=tenants[SIZES[-1]])
    members = [make_member(largest, user=make_user(f"Member {number}")) for number in range(PEOPLE)]
    mine, theirs, *people = [
        sign_in(Client(), who).cookies["sessionid"].value for who in (owner, otto, *members)
    ]
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    places = tenants, clusters, jobs, numbers, busy_tenants, busy_clusters
    return Facts(*places, mine, theirs, people)


def _people(count: int) -> list[User]:
    """People who are only there, each with an identity that was seen."""
    people = [User(name=f"Person {number:05}", email=f"p{number}@example.org") for number in range(count)]
    User.objects.bulk_create(people, batch_size=1000)
    OidcIdentity.objects.bulk_create(
        (
            OidcIdentity(
                user=person, issuer="https://id.example.org", subject=f"p{number}", last_seen_at=clock.now()
            )
            for number, person in enumerate(people)
        ),
        batch_size=1000,
    )
    return people


def _join(tenant: Tenant, people: Sequence[User]) -> None:
    Membership.objects.bulk_create(
        (Membership(tenant=tenant, user=person, role=Role.MEMBER) for person in people), batch_size=1000
    )


def _steps(cluster: Cluster, count: int) -> None:
    StepEvent.objects.bulk_create(
        (
            StepEvent(
                cluster=cluster,
                step="slurm",
                status=(status := STEPS[number % len(STEPS)]),
                reason="ApiNotReady" if status == "waiting" else "",
                message="slurmrestd does not answer yet" if status == "waiting" else "",
            )
            for number in range(count)
        ),
        batch_size=1000,
    )


def _jobs(like: Job, owner: User, count: int, states: Sequence[str]) -> None:
    columns = {
        name: value
        for name, value in model_to_dict(like).items()
        if name not in {"tenant", "cluster", "identity", "owner"}
    }
    now = clock.now()
    apart = max(1, count // NAMED)
    Job.objects.bulk_create(
        (
            Job(
                **columns
                | {
                    "slurm_job_id": like.slurm_job_id + 1 + number,
                    "name": f"sweep-{number}" if number % apart == 0 else f"train-{number}",
                    "state": (state := states[number * 37 % 100]),
                    "submit_time": now - dt.timedelta(minutes=number),
                    "start_time": None if state == "PENDING" else now - dt.timedelta(minutes=number),
                    "end_time": None
                    if state in {"PENDING", "RUNNING"}
                    else now - dt.timedelta(minutes=max(0, number - 20)),
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
