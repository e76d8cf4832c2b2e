"""People are told what they asked for: once, in the browser and by mail, an array quietly."""

from __future__ import annotations

import datetime as dt

import pytest
import time_machine
from django.test import Client

from clusters.clients.slurmrest.models import JobId, JobRecord
from clusters.models import Cluster
from jobs.models import Job
from jobs.notify import service
from jobs.notify.mails import BETWEEN, QUIET
from jobs.notify.models import JobNotice
from jobs.observer.rows import save_records
from jobs.tasks import tell_by_mail
from portal.lib import clock
from portal.lib.crypto import unseal
from portal.lib.errors import BadInput, NotAllowed
from tenants.models import Membership, OutboxMail, Tenant, User
from tests.builders import actor_for, make_member, make_tenant, make_user, sign_in
from tests.cases import case
from tests.clusters.builders import make_site
from tests.jobs.builders import identity_for, make_job, make_slurm_cluster

pytestmark = pytest.mark.django_db
NAMES = ("数据-训练 🚀", 'it\'s "v2"', "<img src=x onerror=alert(1)>", "$(id)")
ALL = service.Wanted(on_start=True, on_end=True, on_failure=True, by_mail=True, in_browser=True)


@pytest.fixture
def ada() -> User:
    return make_user("Ada", email="ada@example.org")


@pytest.fixture
def tenant(ada: User) -> Tenant:
    return make_tenant("Aurora", owner=ada)


@pytest.fixture
def cluster(tenant: Tenant) -> Cluster:
    make_site()
    return make_slurm_cluster(tenant)


def ask(user: User, tenant: Tenant, wanted: service.Wanted = ALL, job: Job | None = None) -> None:
    service.change(actor=actor_for(user, tenant), wanted=wanted, job=job)


def see(cluster: Cluster, user: User, number: int, state: str, **facts: object) -> None:
    """The observer sees a job of this person in a state now."""
    now = clock.now()
    begun = int(now.timestamp())
    record: dict[str, object] = {
        "job_id": JobId(number),
        "name": "train-7b",
        "state": state,
        "user_name": identity_for(cluster, user).name,
        "submit_time": 1_750_000_000,
        "start_time": begun if state == "RUNNING" else None,
        "end_time": begun if state not in {"RUNNING", "PENDING"} else None,
    } | facts
    later = now + dt.timedelta(seconds=1)
    save_records(cluster, [JobRecord(**record)], looked_at=later)  # type: ignore[arg-type]


def told(user: User) -> list[tuple[str, str]]:
    rows = JobNotice.objects.filter(user=user).order_by("at", "job__array_task_id", "what")
    return [(notice.job.label, notice.what) for notice in rows.select_related("job")]


def mails() -> list[tuple[str, str]]:
    tell_by_mail()
    found = OutboxMail.objects.filter(kind="job.notice").order_by("created_at")
    return [(mail.subject, unseal(bytes(mail.sealed_body or b"")).decode()) for mail in found]


def test_each_happening_is_told_once_and_only_what_was_asked_for(
    ada: User, tenant: Tenant, cluster: Cluster
) -> None:
    see(cluster, ada, 6, "RUNNING")
    assert told(ada) == []  # nobody asked
    ask(ada, tenant, service.Wanted(on_failure=True))
    for number, end in ((7, "COMPLETED"), (8, "TIMEOUT")):
        see(cluster, ada, number, "PENDING")
        see(cluster, ada, number, "RUNNING")
        see(cluster, ada, number, end)
        see(cluster, ada, number, end)
    assert told(ada) == [("8", "failed")]
    ask(ada, tenant)
    see(cluster, ada, 9, "RUNNING")
    see(cluster, ada, 9, "RUNNING", reason="Something else")
    see(cluster, ada, 9, "CANCELLED")
    assert sorted(told(ada)) == [("8", "failed"), ("9", "ended"), ("9", "started")]


def test_a_start_is_told_as_a_start_though_the_job_has_ended_since(
    client: Client, ada: User, tenant: Tenant, cluster: Cluster
) -> None:
    ask(ada, tenant, service.Wanted(on_start=True, by_mail=True))
    see(cluster, ada, 7, "RUNNING")
    see(cluster, ada, 7, "COMPLETED")
    ((_subject, text),) = mails()
    page = sign_in(client, ada).get("/t/aurora/notifications/").content.decode()
    for told_of in (text, page):
        assert "started" in told_of
        assert "It ended" not in told_of


def test_a_requeued_job_is_told_of_again(ada: User, tenant: Tenant, cluster: Cluster) -> None:
    ask(ada, tenant, service.Wanted(on_start=True))
    see(cluster, ada, 7, "RUNNING")
    see(cluster, ada, 7, "PENDING", restarts=1)
    see(cluster, ada, 7, "RUNNING", restarts=1)
    assert told(ada) == [("7", "started")] * 2


def test_what_happened_before_the_wish_is_not_told(ada: User, tenant: Tenant, cluster: Cluster) -> None:
    ask(ada, tenant)
    an_hour_ago = int((clock.now() - dt.timedelta(hours=1)).timestamp())
    see(cluster, ada, 7, "FAILED", end_time=an_hour_ago)
    see(cluster, ada, 8, "FAILED")
    assert told(ada) == [("8", "failed")]


def test_the_wish_for_one_job_goes_before_the_one_for_all(
    ada: User, tenant: Tenant, cluster: Cluster
) -> None:
    ask(ada, tenant)
    see(cluster, ada, 7, "PENDING")
    see(cluster, ada, 8, "PENDING")
    quiet = service.Wanted(on_failure=True)
    ask(ada, tenant, quiet, job=Job.objects.get(slurm_job_id=7))
    for number in (7, 8):
        see(cluster, ada, number, "RUNNING")
    assert told(ada) == [("8", "started")]
    see(cluster, ada, 7, "NODE_FAIL")
    assert ("7", "failed") in told(ada)
    # without one of its own, the wish for all counts again
    ask(ada, tenant, service.Wanted(), job=Job.objects.get(slurm_job_id=7))
    see(cluster, ada, 7, "RUNNING", restarts=1)
    assert ("7", "started") in told(ada)


def test_only_owners_are_told_and_only_of_their_own(ada: User, tenant: Tenant, cluster: Cluster) -> None:
    rui = make_user("Rui", email="rui@example.org")
    make_member(tenant, user=rui)
    job = make_job(cluster, ada)
    with pytest.raises(NotAllowed):
        ask(rui, tenant, job=job)
    ask(rui, tenant)
    see(cluster, ada, 7, "RUNNING")
    assert told(rui) == []
    see(cluster, rui, 8, "RUNNING")
    assert told(rui) == [("8", "started")]
    # whoever left hears nothing more
    Membership.objects.filter(user=rui).update(ended_at=clock.now())
    see(cluster, rui, 8, "FAILED")
    assert told(rui) == [("8", "started")]


@pytest.mark.parametrize("name", NAMES)
@case("U03")
def test_a_mail_tells_the_name_as_it_is(ada: User, tenant: Tenant, cluster: Cluster, name: str) -> None:
    ask(ada, tenant)
    see(cluster, ada, 7, "OUT_OF_MEMORY", name=name)
    [(subject, body)] = mails()
    assert subject == f"{name} (7) on gpu-a: failed"
    assert f"- {name} (7, gpu-a): failed" in body
    assert "used more memory" in body
    assert len(mails()) == 1  # told once


def test_mails_to_one_person_keep_a_distance(ada: User, tenant: Tenant, cluster: Cluster) -> None:
    ask(ada, tenant, service.Wanted(on_end=True, by_mail=True, in_browser=False))
    see(cluster, ada, 7, "COMPLETED")
    assert len(mails()) == 1
    see(cluster, ada, 8, "COMPLETED")
    see(cluster, ada, 9, "FAILED")
    assert len(mails()) == 1
    with time_machine.travel(clock.now() + BETWEEN):
        found = mails()
    assert [subject for subject, _ in found][1:] == ["2 of your jobs in Aurora"]
    assert "(8, gpu-a): ended" in found[1][1]
    assert "(9, gpu-a): failed" in found[1][1]


def test_an_array_is_told_quietly(ada: User, tenant: Tenant, cluster: Cluster) -> None:
    ask(ada, tenant)
    rest = {"array_job_id": 500, "array_task_string": "3-9"}
    see(cluster, ada, 500, "PENDING", **rest)
    for task in (1, 2):
        see(cluster, ada, 500 + task, "RUNNING", array_job_id=500, array_task_id=task)
    see(cluster, ada, 501, "FAILED", array_job_id=500, array_task_id=1)
    assert mails() == []
    [group] = service.newest(actor_for(ada, tenant))
    assert (group.label, group.said) == ("500", "of its tasks 2 started, 1 failed")
    with time_machine.travel(clock.now() + QUIET + dt.timedelta(seconds=2)):
        [(subject, body)] = mails()
        assert subject == "train-7b (500) on gpu-a: of its tasks 2 started, 1 failed"
        assert body.count("train-7b") == 1
        # the end of the whole array is told at once
        see(cluster, ada, 500, "CANCELLED", **rest)
        see(cluster, ada, 502, "COMPLETED", array_job_id=500, array_task_id=2)
    with time_machine.travel(clock.now() + QUIET + BETWEEN + dt.timedelta(seconds=4)):
        assert len(mails()) == 2


def test_an_address_that_nobody_verified_gets_no_mail(tenant: Tenant, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(email_verified=False)
    ada.refresh_from_db()
    with pytest.raises(BadInput) as refused:
        ask(ada, tenant)
    assert "by_mail" in refused.value.fields
    with pytest.raises(BadInput) as nowhere:
        ask(ada, tenant, service.Wanted(on_end=True, in_browser=False))
    assert "in_browser" in nowhere.value.fields


def test_the_page_and_the_bell(client: Client, ada: User, tenant: Tenant, cluster: Cluster) -> None:
    sign_in(client, ada)
    page, bell = "/t/aurora/notifications/", "/t/aurora/notifications/bell/"
    assert b"Nothing to tell yet" in client.get(page).content
    sent = {"on_end": "on", "in_browser": "on"}
    assert client.post(page, sent).status_code == 302
    assert service.wanted_of(actor_for(ada, tenant)) == service.Wanted(on_end=True)
    assert client.get(bell, {"unread": "0"}).status_code == 204
    see(cluster, ada, 7, "FAILED", name=NAMES[2])
    shown = client.get(bell, {"unread": "0"}).content.decode()
    assert "1 unread notification" in shown
    assert "&lt;img src=x" in shown
    assert "<img" not in shown
    assert "hx-swap-oob" in shown
    assert client.get(bell, {"unread": "1"}).status_code == 204
    for odd in ("", "x", "-1", "9" * 40, "\u0663"):
        assert client.get(bell, {"unread": odd}).status_code == 200
    assert "&lt;img src=x" in client.get(page).content.decode()
    assert client.post("/t/aurora/notifications/read/").status_code == 302
    assert client.get(bell, {"unread": "1"}).status_code == 200
    assert client.get(bell, {"unread": "0"}).status_code == 204
    assert client.post(page, {"on_end": "on"}).status_code == 400


def test_one_job_has_a_page_for_it(client: Client, ada: User, tenant: Tenant, cluster: Cluster) -> None:
    sign_in(client, ada)
    job = make_job(cluster, ada)
    page = f"/t/aurora/jobs/{job.pk}/notify/"
    assert page in client.get(f"/t/aurora/jobs/{job.pk}/").content.decode()
    assert client.post(page, {"on_failure": "on", "in_browser": "on"}).status_code == 302
    assert service.wanted_of(actor_for(ada, tenant), job) == service.Wanted(on_failure=True)
    assert page in client.get("/t/aurora/notifications/").content.decode()
