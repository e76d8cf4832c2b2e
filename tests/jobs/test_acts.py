"""Hold, release, change, requeue and the rest: who may, as whom, what exactly, and what Slurm made of it."""

from __future__ import annotations

import pytest
from django.test import Client

from clusters.clients.slurm_console.console import Unreadable
from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.changes import CannotAsk, JobChanges
from clusters.drivers.slurm_probe.site import USER_TOP
from clusters.models import Cluster, Site
from jobs.models import Job
from jobs.services import acts, changes
from jobs.services.acts import ACTS
from jobs.services.doing import Done, Wish, do
from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, WrongState
from portal.lib.types import JSONDict
from tenants.models import AuditEvent, Role, Tenant, User
from tests.builders import actor_for, make_member, sign_in
from tests.cases import case
from tests.jobs import consoles
from tests.jobs.builders import identity_for, make_job
from tests.jobs.consoles import FakeConsole
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> FakeConsole:
    return consoles.install(monkeypatch)


def act(user: User, tenant: Tenant, job: Job, name: str, **how: object) -> Done:
    return do(actor=actor_for(user, tenant), job=job, wish=Wish(ACTS[name], **how))  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "hold"), [("hold", True), ("release", False)])
def test_holding_and_releasing_go_through_rest_as_the_owner(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster, name: str, hold: bool
) -> None:
    job = make_job(cluster, alice, state="PENDING", slurm_job_id=12)
    admin = make_member(tenant, Role.ADMIN)
    act(admin, tenant, job, name)
    assert slurm.changed == [("12", JobChanges(hold=hold))]
    assert slurm.account == identity_for(cluster, alice).name
    event = AuditEvent.objects.get(verb=ACTS[name].verb)
    assert (event.actor_user, event.detail["as"], event.detail["others"]) == (admin, slurm.account, True)


def test_what_slurm_took_and_did_not_do_is_told(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    at = clock.now().replace(microsecond=0)
    job = make_job(cluster, alice, state="PENDING", slurm_job_id=12, submit_time=at)
    facts = {"user_name": job.user_name, "submit_time": int(at.timestamp()), "partition": "train"}
    slurm.add(job_id=12, time_limit=60, **facts)
    done = act(alice, tenant, job, "change", changes=JobChanges(time_limit_minutes=30, partition="train"))
    assert done.differs == ("Slurm took the change, but Time limit of 12 is still 1:00:00.",)
    slurm.change(12, time_limit=30)
    assert act(alice, tenant, job, "change", changes=JobChanges(time_limit_minutes=30)).differs == ()
    assert act(alice, tenant, job, "hold").differs == (
        "Slurm took the change, but the hold of 12 is still not held.",
    )


def test_only_the_waiting_rest_of_an_array_tells_how_many_may_run(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    at = clock.now().replace(microsecond=0)
    facts = {"user_name": "fh", "submit_time": int(at.timestamp()), "array_job_id": 12}
    job = make_job(cluster, alice, state="PENDING", slurm_job_id=12, array_job_id=12, submit_time=at)
    slurm.add(job_id=12, array_task_string="1-3%2", **facts)
    slurm.add(job_id=13, array_task_id=0, state="RUNNING", **facts)
    assert act(alice, tenant, job, "change", changes=JobChanges(array_throttle=2)).differs == ()
    slurm.change(12, array_task_string="1-3")
    (told,) = act(alice, tenant, job, "change", changes=JobChanges(array_throttle=2)).differs
    assert "Tasks at once of 12_[1-3] is still 0" in told


def test_what_a_release_ignores_is_not_asked_for(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    slurm.fault = CannotAsk("v0.0.38", ["name"])
    job = make_job(cluster, alice, state="PENDING")
    with pytest.raises(BadInput) as refused:
        act(alice, tenant, job, "change", changes=JobChanges(name="other"))
    assert refused.value.fields.keys() == {"name"}


def test_changes_are_read_as_the_form_reads_them(alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, state="PENDING", comment="old", mark="abcdefghij23", time_limit_minutes=60)
    now = changes.present(job)
    assert now["time_limit_minutes"] == "1:00:00"
    asked = changes.read(job, {**now, "time_limit_minutes": "90", "comment": "new", "nodes": ""})
    assert asked == JobChanges(time_limit_minutes=90, comment="new [fh:abcdefghij23]")
    for wrong in ({"time_limit_minutes": "soon"}, {"user": "root"}, {"array_throttle": "3"}, {"nice": "-1"}):
        with pytest.raises(BadInput) as refused:
            changes.read(job, wrong)
        assert refused.value.fields.keys() == wrong.keys()
    with pytest.raises(BadInput, match="Nothing is to be changed"):
        changes.read(job, now)
    Job.objects.filter(pk=job.pk).update(state="RUNNING")
    job.refresh_from_db()
    with pytest.raises(BadInput):
        changes.read(job, {"partition": "other"})


def test_requeue_is_the_owners(
    slurm: FakeSlurm, console: FakeConsole, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, slurm_job_id=12)
    act(make_member(tenant, Role.ADMIN), tenant, job, "requeue")
    assert console.asked == [(identity_for(cluster, alice).name, "requeue", "12")]
    with pytest.raises(NotAllowed):
        act(make_member(tenant, Role.MEMBER), tenant, job, "requeue")
    assert len(console.asked) == 1


@pytest.mark.parametrize(("name", "state"), [("suspend", "RUNNING"), ("resume", "SUSPENDED")])
def test_suspend_and_resume_are_the_admins_by_the_administrator_account(
    slurm: FakeSlurm,
    console: FakeConsole,
    tenant: Tenant,
    alice: User,
    cluster: Cluster,
    name: str,
    state: str,
) -> None:
    made = {"name": "fhadministrator", "uid": 2_000_000, "gid": 2_000_000}
    administrator, _ = cluster.identities.get_or_create(kind="administrator", defaults=made)
    job = make_job(cluster, alice, state=state, slurm_job_id=12)
    with pytest.raises(NotAllowed):
        act(alice, tenant, job, name)
    assert console.asked == []
    act(make_member(tenant, Role.ADMIN), tenant, job, name)
    assert console.asked == [(administrator.name, name, "12")]
    assert AuditEvent.objects.get(verb=ACTS[name].verb).detail["as"] == console.asked[0][0]


@pytest.mark.parametrize("done", [True, False])
def test_where_the_answer_cannot_be_read_the_job_tells(
    slurm: FakeSlurm,
    monkeypatch: pytest.MonkeyPatch,
    tenant: Tenant,
    alice: User,
    cluster: Cluster,
    done: bool,
) -> None:
    made = {"name": "fhadministrator", "uid": 2_000_000, "gid": 2_000_000}
    cluster.identities.get_or_create(kind="administrator", defaults=made)
    at = clock.now().replace(microsecond=0)
    job = make_job(cluster, alice, slurm_job_id=12, submit_time=at)
    slurm.add(job_id=12, state="RUNNING", user_name=job.user_name, submit_time=int(at.timestamp()))

    class Mumbling(FakeConsole):
        def suspend(self, job: str) -> None:
            if done:
                slurm.change(int(job), state="SUSPENDED")
            raise Unreadable

    consoles.install(monkeypatch, Mumbling())
    admin = make_member(tenant, Role.ADMIN)
    if done:
        assert act(admin, tenant, job, "suspend").job.state == "SUSPENDED"
    else:
        with pytest.raises(WrongState, match="did not do this"):
            act(admin, tenant, job, "suspend")


def test_top_only_where_the_site_lets(
    slurm: FakeSlurm, console: FakeConsole, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, state="PENDING", slurm_job_id=12)
    with pytest.raises(WrongState, match="does not let members reorder"):
        act(alice, tenant, job, "top")
    Site.objects.update(settings={USER_TOP: True})
    act(alice, tenant, Job.objects.get(pk=job.pk), "top")
    assert [verb for _, verb, _ in console.asked] == ["top"]


def test_without_a_console_its_acts_say_why_and_the_others_work(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    running = make_job(cluster, alice)
    found = {offer.act.name: offer for offer in acts.offers(actor_for(alice, tenant), running)}
    assert found.keys() == {"cancel", "change", "requeue"}
    assert found["cancel"].allowed
    assert not found["requeue"].allowed
    assert "no console" in found["requeue"].why
    with pytest.raises(WrongState, match="no console"):
        act(alice, tenant, running, "requeue")
    admin = actor_for(make_member(tenant, Role.ADMIN), tenant)
    seen = {offer.act.name for offer in acts.offers(admin, running)}
    assert seen == {"cancel", "change", "requeue", "suspend"}
    viewer = actor_for(make_member(tenant, Role.VIEWER), tenant)
    assert acts.offers(viewer, running) == acts.many_offers(viewer, cluster) == []


@case("U12")
@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"slurm_job_id": 507, "array_job_id": 500, "array_task_id": 7}, "500_7"),
        ({"slurm_job_id": 500, "array_job_id": 500, "array_task_id": 10}, "500_10"),
        ({"slurm_job_id": 901, "het_job_id": 900, "het_offset": 1}, "900"),
    ],
)
def test_requeue_means_exactly_one_task_or_the_whole_set(
    slurm: FakeSlurm,
    console: FakeConsole,
    tenant: Tenant,
    alice: User,
    cluster: Cluster,
    columns: JSONDict,
    told: str,
) -> None:
    job = make_job(cluster, alice, **columns)
    act(alice, tenant, job, "requeue")
    assert [address for _, _, address in console.asked] == [told]
    assert ("whole set" in acts.ends_also(job)) == (told == "900")


@case("U12")
def test_some_tasks_of_an_array_that_waits_are_named_one_by_one(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = make_job(
        cluster, alice, state="PENDING", slurm_job_id=500, array_job_id=500, array_tasks="3-8%2", task_count=6
    )
    act(alice, tenant, job, "hold", tasks="4, 6-8:2")
    assert [address for address, _ in slurm.changed] == ["500_4", "500_6", "500_8"]
    for wrong in ("9", "1-3", "x", "%2", "3-100000000"):
        with pytest.raises(BadInput) as refused:
            act(alice, tenant, job, "cancel", tasks=wrong)
        assert refused.value.fields.keys() == {"tasks"}
    assert slurm.cancelled == []


def test_a_signal_is_one_that_a_job_may_get(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, slurm_job_id=12)
    act(alice, tenant, job, "cancel", signal="USR1")
    assert AuditEvent.objects.get(verb="job.signalled").detail["signal"] == "USR1"
    with pytest.raises(BadInput):
        act(alice, tenant, job, "cancel", signal="9; rm")
    assert len(slurm.cancelled) == 1


@pytest.mark.parametrize("name", ["hold", "release", "top", "resume"])
def test_an_act_that_does_not_fit_the_state_is_not_asked_for(
    slurm: FakeSlurm, console: FakeConsole, tenant: Tenant, alice: User, cluster: Cluster, name: str
) -> None:
    with pytest.raises(WrongState, match="cannot be done: Running"):
        act(make_member(tenant, Role.OWNER), tenant, make_job(cluster, alice), name)
    assert (slurm.changed, console.asked) == ([], [])


def test_slurms_refusal_is_told_in_its_words(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, state="PENDING", reason="JobHeldAdmin")
    slurm.fault = errors.NotPermitted(2002, "Access/permission denied")
    with pytest.raises(WrongState, match="Slurm refused this: Access/permission denied"):
        act(alice, tenant, job, "release")
    slurm.fault = errors.UnknownJob(2017, "Invalid job id specified")
    with pytest.raises(WrongState, match="forgotten"):
        act(alice, tenant, job, "release")


def test_the_pages_ask_then_act_and_lead_back(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, state="PENDING", slurm_job_id=12, name="<b>it's</b>")
    sign_in(client, alice)
    page = client.get(f"/t/aurora-lab/jobs/{job.pk}/act/hold/")
    assert (page.status_code, slurm.changed) == (200, [])
    assert "&lt;b&gt;it&#x27;s&lt;/b&gt;" in page.content.decode()
    answer = client.post(f"/t/aurora-lab/jobs/{job.pk}/act/hold/")
    assert (answer.status_code, answer["Location"]) == (302, f"/t/aurora-lab/jobs/{job.pk}/")
    assert [address for address, _ in slurm.changed] == ["12"]
    form = client.get(f"/t/aurora-lab/jobs/{job.pk}/act/change/").content.decode()
    assert 'name="time_limit_minutes" value="1:00:00"' in form
    wrong = client.post(f"/t/aurora-lab/jobs/{job.pk}/act/change/", {"time_limit_minutes": "soon"})
    assert (wrong.status_code, "This is not a time limit" in wrong.content.decode()) == (400, True)
    assert client.get(f"/t/aurora-lab/jobs/{job.pk}/act/destroy/").status_code == 404
