"""What accounting allows: kept as told, and what speaks against a request by it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import uuid

import pytest
from django.test import Client

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.rules import Bounds, Qos, Share
from clusters.models import Cluster
from jobs.history import reading
from jobs.history.models import HistoryCursor
from jobs.models import Rules, UserRule
from jobs.rules import saving
from jobs.rules.judging import judge, left_for
from jobs.rules.view import rules_of
from jobs.services.capacity import ClusterView
from jobs.services.drafts import DraftRefused, Typed, read_draft
from portal.lib import clock
from tenants.models import Tenant, User
from tests.builders import sign_in
from tests.jobs.builders import SCRIPT, identity_for, keep_books, make_job
from tests.jobs.fakes import FakeSlurm
from tests.jobs.history.books import FakeBooks, install
from tests.jobs.rules.builders import HELD, USER, against, make_rules, told_of, typed, warned

pytestmark = pytest.mark.django_db


def with_partition(view: ClusterView, **facts: object) -> ClusterView:
    """The default one, changed."""
    (train,) = view.partitions
    return dataclasses.replace(view, partitions=(dataclasses.replace(train, **facts),))  # type: ignore[arg-type]


def test_without_accounting_nothing_of_it_is_checked(cluster: Cluster, view: ClusterView) -> None:
    assert rules_of(cluster, USER) is None
    assert read_draft(typed(account="none", qos="none"), view, None).values["qos"] == "none"


@pytest.mark.parametrize(
    ("fields", "wrong", "told"),
    [
        ({"account": "nope"}, "account", "There is no account nope here. You are in: research, vision."),
        ({"account": "other"}, "account", "You are not in account other."),
        ({"qos": "nope"}, "qos", "There is no QOS nope here. There are: high, normal, tiny."),
        ({"qos": "foreign"}, "qos", "QOS foreign is not yours."),
        ({"account": "vision", "qos": "tiny"}, "qos", "Yours are: high."),
        (
            {"qos": "high", "time_limit_minutes": "61"},
            "time_limit_minutes",
            "QOS high allows at most 1:00:00",
        ),
        ({"qos": "high", "time_limit_minutes": "61"}, "time_limit_minutes", "Accounting as of 0 s ago."),
        ({"qos": "tiny", "cpus_per_task": "4"}, "cpus_per_task", "3 CPUs for one job; this asks for 4 CPUs."),
        ({"qos": "tiny", "tasks": "4"}, "tasks", "3 CPUs for one job"),
        ({"qos": "tiny", "gpus": "2"}, "gpus", "1 GPU at once for one member; this asks for 2 GPUs."),
        ({"qos": "tiny", "array": "0-2"}, "array", "at most 2 jobs that wait or run; this would be 3."),
        ({"nodes": "2", "gpus": "2"}, "gpus", "Account research allows at most 3 GPUs at once for all"),
        ({"account": "vision", "nodes": "2", "gpus": "2"}, "gpus", "Account research allows at most 3 GPUs"),
        ({"time_limit_minutes": "601"}, "time_limit_minutes", "Your limit in account research allows"),
        (
            {"cpus_per_task": "8", "time_limit_minutes": "61"},
            "time_limit_minutes",
            "at most 8 CPU-hours for one",
        ),
        ({"array": "0-5001"}, "array", "the largest task number here is 5,000"),
    ],
)
def test_what_slurm_would_refuse_or_never_start_is_told_beside_its_field(
    cluster: Cluster, view: ClusterView, fields: dict[str, str], wrong: str, told: str
) -> None:
    own = Bounds(wall_minutes=600, minutes_per_job={"cpu": 480})
    rules = make_rules(cluster, USER, bounds=Bounds(together={"gres/gpu": 3}), own=own)
    found = against(view, rules, **fields)
    assert told.lower() in found.pop(wrong).lower()
    assert not found


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"account": "VISION", "qos": "HIGH", "time_limit_minutes": "60"},
        {"qos": "tiny", "cpus_per_task": "3", "gpus": "1", "array": "0-1"},
        {"nodes": "1", "gpus": "2", "time_limit_minutes": "600"},
        {"cpus_per_task": "8", "time_limit_minutes": "60"},
        {"array": "0-5000%3"},
    ],
)
def test_what_is_allowed_passes(cluster: Cluster, view: ClusterView, fields: dict[str, str]) -> None:
    own = Bounds(wall_minutes=600, minutes_per_job={"gres/gpu": 1200, "cpu": 600})
    rules = make_rules(cluster, USER, bounds=Bounds(together={"gres/gpu": 3}), own=own)
    assert against(view, rules, **fields) == {}


@pytest.mark.parametrize(
    ("enforces", "fields", "stops"),
    [
        (HELD, {"qos": "nope"}, True),
        (None, {"qos": "nope"}, True),  # not known: the person may insist
        (("associations", "limits"), {"qos": "nope"}, False),  # seen: taken, without a QOS
        (("associations", "limits"), {"account": "nope"}, True),
        ((), {"account": "nope"}, False),
        (("limits",), {"qos": "high", "time_limit_minutes": "90"}, True),
        (None, {"qos": "high", "time_limit_minutes": "90"}, False),
        ((), {"qos": "high", "time_limit_minutes": "90"}, False),
    ],
)
def test_what_slurm_does_not_hold_to_is_a_warning_at_most(
    cluster: Cluster, view: ClusterView, enforces: tuple[str, ...] | None, fields: dict[str, str], stops: bool
) -> None:
    rules = make_rules(cluster, USER, enforces=enforces)
    if enforces is None:
        rules = dataclasses.replace(rules, enforces=None)
    assert bool(against(view, rules, **fields)) == stops
    if not stops and (enforces is None or "qos" not in fields or fields["qos"] == "nope"):
        assert "Accounting as of" in warned(view, rules, **fields)


def test_who_insists_sends_it_all_the_same_but_not_what_is_wrong_anyhow(
    cluster: Cluster, view: ClusterView
) -> None:
    rules = make_rules(cluster, USER)
    with pytest.raises(DraftRefused) as refused:
        read_draft(typed(qos="nope"), view, rules)
    assert refused.value.may_insist
    insisting = dataclasses.replace(typed(qos="nope"), insists=True)
    assert "There is no QOS nope" in " ".join(str(note) for note in read_draft(insisting, view, rules).notes)
    both = dataclasses.replace(typed(qos="nope", nodes="9"), insists=True)
    with pytest.raises(DraftRefused) as refused:
        read_draft(both, view, rules)
    assert (set(refused.value.fields), refused.value.may_insist) == ({"nodes"}, False)


@pytest.mark.parametrize(
    ("facts", "fields", "told"),
    [
        (
            {"allowed_accounts": ("other",)},
            {},
            "Partition train is for the accounts other, and not for research",
        ),
        (
            {"denied_accounts": ("research",)},
            {"account": "research"},
            "Partition train is not for account research",
        ),
        ({"allowed_qos": ("high",)}, {}, "Partition train is for the QOS high, and not for normal"),
        ({"denied_qos": ("high",)}, {"qos": "high"}, "Partition train is not for QOS high"),
        ({"qos": "tiny"}, {"cpus_per_task": "4"}, "QOS tiny of partition train allows at most 3 CPUs"),
        ({"allowed_accounts": ("research",)}, {"account": "vision"}, ""),  # below an allowed one
        ({"denied_accounts": ("research",)}, {"account": "vision"}, ""),  # of old releases not meant
        ({"allowed_qos": ("high",)}, {"qos": "high"}, ""),
    ],
)
def test_who_may_use_a_partition(
    cluster: Cluster, view: ClusterView, facts: dict[str, object], fields: dict[str, str], told: str
) -> None:
    rules = dataclasses.replace(make_rules(cluster, USER), release=())  # not told yet
    found = " ".join(against(with_partition(view, **facts), rules, **fields).values())
    assert (told in found) if told else not found


@pytest.mark.parametrize(("release", "allows", "denies"), [((22, 5), False, False), ((24, 11), True, True)])
def test_accounts_below_are_meant_by_newer_releases_only(
    cluster: Cluster, view: ClusterView, release: tuple[int, ...], allows: bool, denies: bool
) -> None:
    rules = dataclasses.replace(make_rules(cluster, USER), release=release)
    open_to = with_partition(view, allowed_accounts=("research",))
    closed_to = with_partition(view, denied_accounts=("research",))
    assert bool(against(open_to, rules, account="vision")) is not allows
    assert bool(against(closed_to, rules, account="vision")) is denies


def test_a_reason_holds_if_it_holds_in_each_partition(cluster: Cluster, view: ClusterView) -> None:
    (train,) = view.partitions
    closed = dataclasses.replace(train, name="closed", is_default=False, allowed_accounts=("other",))
    both = dataclasses.replace(view, partitions=(train, closed))
    rules = make_rules(cluster, USER)
    assert "partition" in against(both, rules, partition="closed")
    script = SCRIPT.replace("\n", "\n#SBATCH --partition=closed,train\n", 1)
    assert read_draft(Typed(script=script), both, rules).partitions == ("closed", "train")


def test_a_qos_may_lift_limits_of_partitions_and_come_before_theirs(
    cluster: Cluster, view: ClusterView
) -> None:
    free = Qos(
        name="high",
        flags=("PARTITION_TIME_LIMIT", "OVERRIDE_PARTITION_QOS"),
        bounds=Bounds(per_job={"cpu": 6}),
    )
    strict = Qos(name="strict", bounds=Bounds(per_job={"cpu": 2}))
    rules = make_rules(cluster, USER, qos=(free, strict, Qos(name="normal")))
    short = with_partition(view, max_time=10, default_time=None, qos="strict")
    assert against(short, rules, time_limit_minutes="20").keys() == {"time_limit_minutes"}
    assert against(short, rules, time_limit_minutes="20", qos="high") == {}
    assert against(short, rules, cpus_per_task="3").keys() == {"cpus_per_task"}
    assert against(short, rules, cpus_per_task="6", qos="high") == {}
    assert against(short, rules, cpus_per_task="7", qos="high").keys() == {"cpus_per_task"}


def test_a_budget_says_what_is_left_and_warns_before_it_is_used_up(
    cluster: Cluster, view: ClusterView
) -> None:
    def used(gpu_minutes: int) -> tuple[Share, ...]:
        return (Share(account="research", used_seconds={"gres/gpu": gpu_minutes * 60.0 + 59, "cpu": 6e9}),)

    budget = Bounds(minutes={"gres/gpu": 600})
    rules = make_rules(cluster, USER, bounds=budget, shares=used(240))
    (left,) = left_for({"gpus": None}, view, rules)
    assert (left.used, left.left, str(left.text)) == (
        240,
        360,
        "Account research: 6 GPU-hours of 10 GPU-hours left.",
    )
    assert "left" not in warned(view, rules, gpus="2", time_limit_minutes="180")
    assert "up to 6.1 GPU-hours" in warned(view, rules, gpus="2", time_limit_minutes="183")
    assert "up to 12 GPU-hours" in warned(view, rules, gpus="2", time_limit_minutes="180", array="0-1")
    assert "0 GPU-hours" not in warned(view, rules)
    gone = make_rules(cluster, USER, bounds=budget, shares=used(600))
    assert "0 GPU-hours of 10 GPU-hours left" in against(view, gone, gpus="1")["account"]
    assert against(view, gone) == {}
    safe = make_rules(cluster, USER, bounds=budget, shares=used(240), enforces=("limits", "safe"))
    assert "starts no job" in against(view, safe, gpus="2", time_limit_minutes="183")["time_limit_minutes"]
    untold = make_rules(cluster, USER, bounds=budget)
    (left,) = left_for({}, view, untold)
    assert "does not tell" in str(left.text)
    assert against(view, untold, gpus="2") == {}


def test_who_came_after_the_last_reading_is_not_refused(cluster: Cluster, view: ClusterView) -> None:
    rules = make_rules(cluster, USER)
    other = rules_of(cluster, "fhnew")
    assert other is not None
    assert against(view, other, account="whatever", qos="high") == {}
    assert against(view, rules, account="whatever")


def test_the_reader_of_accounting_keeps_what_is_allowed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_books(cluster)
    books = install(monkeypatch)
    told = told_of(cluster, USER)
    books.rules, books.every_qos, books.conf = told.associations, told.qos, told.settings
    reading.due(clock.now())
    HistoryCursor.objects.update(read_until=clock.now())
    reading.read(cluster.pk)
    row = Rules.objects.get(cluster=cluster)
    assert [one["name"] for one in row.qos] == ["normal", "high", "tiny", "foreign"]
    assert [one.account for one in UserRule.objects.filter(cluster=cluster, user=USER)] == [
        "research",
        "vision",
    ]
    kept = set(UserRule.objects.values_list("pk", flat=True))
    _read_again(cluster)
    assert set(UserRule.objects.values_list("pk", flat=True)) == kept  # nothing changed
    books.rules = books.rules[:-1]
    _read_again(cluster)
    assert [one.account for one in UserRule.objects.filter(user=USER)] == ["research"]
    seen = Rules.objects.get(cluster=cluster).observed_at
    books.no_rules = errors.NotReachable("away")
    _read_again(cluster)
    assert Rules.objects.get(cluster=cluster).observed_at == seen  # as old as it is
    assert HistoryCursor.objects.get(cluster=cluster).failures == 0  # jobs are told of all the same


def _read_again(cluster: Cluster) -> None:
    HistoryCursor.objects.update(next_at=clock.now())
    reading.read(cluster.pk)


def test_of_several_clusters_in_one_slurmdbd_only_this_one_counts(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = FakeBooks()
    books.rules = told_of(Cluster(pk=uuid.uuid4()), USER).associations
    found = saving.read(books, cluster.external_name)
    assert found is not None
    assert found.associations == ()


def test_the_form_offers_what_is_yours_and_lets_you_insist(
    client: Client, slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    name = identity_for(cluster, alice).name
    make_rules(cluster, name)
    address = f"/t/aurora-lab/clusters/{cluster.pk}/jobs/new/"
    page = sign_in(client, alice).get(address)
    assert "Yours: high, normal, tiny. Blank: normal." in page.content.decode()
    key = page.context["form"].initial["key"]
    fields = {"key": str(key), "script": SCRIPT, "qos": "nope"}
    refused = client.post(address, fields)
    text = refused.content.decode()
    assert refused.status_code == 400
    assert "There is no QOS nope here." in text
    assert 'name="insists"' in text
    assert slurm.submitted == []
    checked = client.post(address, {**fields, "check": "1"}, headers={"HX-Request": "true"})
    assert 'name="insists"' in checked.content.decode()
    sent = client.post(address, {**fields, "insists": "on"})
    assert sent.status_code == 302
    assert slurm.submitted[0].qos == "nope"


def test_the_check_shows_age_budget_and_estimates_of_those_that_wait(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    name = identity_for(cluster, alice).name
    make_rules(cluster, name, bounds=Bounds(minutes={"gres/gpu": 600}))
    address = f"/t/aurora-lab/clusters/{cluster.pk}/jobs/new/"
    key = sign_in(client, alice).get(address).context["form"].initial["key"]

    def check() -> str:
        data = {"key": str(key), "script": SCRIPT, "gpus": "1", "time_limit_minutes": "60", "check": "1"}
        return " ".join(client.post(address, data, headers={"HX-Request": "true"}).content.decode().split())

    text = check()
    assert "Accounts, QOS and limits as of <time" in text
    assert "How much is left, this Slurm&#x27;s API does not tell." in text
    assert "At most 1 GPU-hours." in text
    assert "No job waits in train." in text
    make_job(cluster, alice, state="PENDING")
    assert "1 job waits in train. The cluster gives no estimate of when." in check()
    later = clock.now() + dt.timedelta(hours=2)
    make_job(cluster, alice, state="PENDING", start_time=later)
    assert "2 jobs wait in train. By the cluster's own estimate one starts <time" in check()
    make_job(cluster, alice, state="PENDING", start_time=later + dt.timedelta(hours=1))
    assert f'the first starts <time datetime="{later.isoformat(timespec="seconds")}"' in check()


def test_judging_asks_the_database_nothing_unless_jobs_are_counted(
    cluster: Cluster, view: ClusterView, django_assert_num_queries: object
) -> None:
    rules = make_rules(cluster, USER)
    with django_assert_num_queries(0):  # type: ignore[operator]
        judge({"qos": "high", "array": "0-9"}, view, rules)
    with django_assert_num_queries(1):  # type: ignore[operator]
        judge({"qos": "tiny"}, view, rules)
    with django_assert_num_queries(3):  # type: ignore[operator]
        rules_of(cluster, USER)
