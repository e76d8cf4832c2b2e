"""A list costs the same number of queries for 3 rows as for 30, and no more than is pinned here."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.models import (
    Cluster,
    KubeAccount,
    KubeconfigGrant,
    KubeRole,
    Node,
    NodePool,
    Offering,
    Order,
    OrderLine,
    Site,
    StepEvent,
    StepState,
)
from jobs.models import Job, JobEvent
from portal.lib import clock
from tenants.models import AuditEvent, Invitation, Membership, User
from tests.api.calls import OPERATIONS, all_calls, make_token, perform
from tests.architecture.routes import World
from tests.clusters.builders import make_flavor, make_site
from tests.clusters.routes import cluster_of as plain_cluster_of
from tests.jobs.builders import make_job, make_notice, make_submission, make_template, make_view
from tests.jobs.routes import cluster_of, job_of

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
CALLS = all_calls()


def _cluster(world: World) -> Cluster:
    return Cluster.objects.get(pk=plain_cluster_of(world)["pk"])


def _slurm_cluster(world: World) -> Cluster:
    return Cluster.objects.get(pk=cluster_of(world)["pk"])


def _new() -> str:
    return f"x{uuid.uuid4().hex[:12]}"


def members(world: World, count: int) -> None:
    people = User.objects.bulk_create(User(name=f"P{number}") for number in range(count))
    Membership.objects.bulk_create(
        Membership(tenant=world.tenant, user=person, role="member") for person in people
    )


def invitations(world: World, count: int) -> None:
    Invitation.objects.bulk_create(
        Invitation(
            tenant=world.tenant,
            email=f"{number}@example.org",
            role="member",
            token_hash=uuid.uuid4().hex,
            invited_by=world.owner,
            expires_at=clock.now() + dt.timedelta(days=1),
        )
        for number in range(count)
    )


def events(world: World, count: int) -> None:
    AuditEvent.objects.bulk_create(
        AuditEvent(tenant=world.tenant, verb="test.x", actor_kind="person", actor_user=world.owner, via="web")
        for _ in range(count)
    )


def offerings(world: World, count: int) -> None:
    for _ in range(count):
        site = Site.objects.create(slug=_new(), name="S", drivers={})
        Offering.objects.create(site=site, flavor=make_flavor(_new()), price_per_hour="1")


def orders(world: World, count: int) -> None:
    site = world.make(make_site)
    for _ in range(count):
        order = Order.objects.create(
            tenant=world.tenant,
            site=site,
            cluster_name=_new(),
            price_per_hour="1",
            created_by=world.owner,
            decided_by=world.people["operator"],
        )
        OrderLine.objects.create(
            order=order, pool="a", flavor=make_flavor(_new()), count=1, price_per_hour="1"
        )


def clusters(world: World, count: int) -> None:
    site = world.make(make_site)
    for _ in range(count):
        cluster = Cluster.objects.create(tenant=world.tenant, site=site, name=_new())
        NodePool.objects.create(
            cluster=cluster, name="a", flavor=make_flavor(_new()), count=1, price_per_hour="1"
        )


def nodes(world: World, count: int) -> None:
    Node.objects.bulk_create(
        Node(cluster=_cluster(world), name=_new(), state="IDLE", observed_at=clock.now())
        for _ in range(count)
    )


def steps(world: World, count: int) -> None:
    StepState.objects.bulk_create(
        StepState(cluster=_cluster(world), name=_new(), position=number + 50, component="x")
        for number in range(count)
    )


def step_events(world: World, count: int) -> None:
    StepEvent.objects.bulk_create(
        StepEvent(cluster=_cluster(world), step="x", status="ready") for _ in range(count)
    )


def kubeconfigs(world: World, count: int) -> None:
    cluster = _cluster(world)
    account, _ = KubeAccount.objects.get_or_create(
        cluster=cluster,
        membership=Membership.objects.get(tenant=world.tenant, user=world.owner),
        defaults={"name": "m-test", "role": KubeRole.VIEW},
    )
    KubeconfigGrant.objects.bulk_create(
        KubeconfigGrant(
            cluster=cluster,
            account=account,
            role=KubeRole.VIEW,
            expires_at=clock.now() + dt.timedelta(days=1),
        )
        for _ in range(count)
    )


def jobs(world: World, count: int) -> None:
    for number in range(count):
        make_job(_slurm_cluster(world), world.owner, state="RUNNING" if number % 2 else "PENDING")


def job_events(world: World, count: int) -> None:
    job = Job.objects.get(pk=job_of(world)["pk"])
    JobEvent.objects.bulk_create(JobEvent(job=job, at=clock.now(), state="RUNNING") for _ in range(count))


def submissions(world: World, count: int) -> None:
    cluster = _slurm_cluster(world)
    for _ in range(count):
        make_submission(cluster, world.owner, job=make_job(cluster, world.owner))


def notices(world: World, count: int) -> None:
    for _ in range(count):
        make_notice(make_job(_slurm_cluster(world), world.owner))


def templates(world: World, count: int) -> None:
    for _ in range(count):
        make_template(world.tenant, world.owner, name=_new())


def views(world: World, count: int) -> None:
    for _ in range(count):
        make_view(world.tenant, world.owner, name=_new())


# what fills the list, and its queries: token with membership, READ ONLY, and those of the list itself
LISTS: dict[str, tuple[Callable[[World, int], None], int]] = {
    "members_list": (members, 3),
    "invitations_list": (invitations, 3),
    "audit_list": (events, 3),
    "catalogue_list": (offerings, 7),
    "orders_list": (orders, 5),
    "clusters_list": (clusters, 5),
    "cluster_nodes": (nodes, 4),
    "cluster_steps": (steps, 4),
    "cluster_events": (step_events, 4),
    "cluster_kubeconfigs": (kubeconfigs, 5),
    "cluster_queue": (jobs, 5),
    "jobs_list": (jobs, 5),
    "job_events": (job_events, 4),
    "submissions_list": (submissions, 3),
    "notifications_list": (notices, 3),
    "templates_list": (templates, 3),
    "views_list": (views, 3),
}


def test_every_list_is_pinned() -> None:
    paged = {one.name for one in OPERATIONS.values() if "cursor" in str(one.facts.get("parameters"))}
    assert paged - {"my_tenants"} == LISTS.keys()


@pytest.mark.parametrize("name", sorted(LISTS))
def test_more_rows_need_no_more_queries(name: str) -> None:
    fill, pinned = LISTS[name]
    world = World()
    call, operation, token = CALLS[name], OPERATIONS[name], make_token(world.owner, world.tenant)
    call.kwargs(world)
    perform(world, call, operation, token)  # notes the token's use, once a minute

    def ask() -> tuple[int, int]:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            answer: Any = perform(world, call, operation, token)
        assert answer.status_code == 200
        found = [query for query in seen if not query["sql"].startswith(("SAVEPOINT", "RELEASE", "ROLLBACK"))]
        return len(answer.json()["items"]), len(found)

    fill(world, 3)
    few, cost = ask()
    fill(world, 30)
    many, same = ask()
    assert many == few + 30
    assert (cost, same) == (pinned, pinned)
