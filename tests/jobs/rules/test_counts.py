"""Limits of how many jobs there may be, and of the time of all together."""

from __future__ import annotations

import pytest

from clusters.clients.slurmrest.rules import NO_BOUNDS, Bounds, Qos
from clusters.models import Cluster
from jobs.services.capacity import ClusterView
from tenants.models import User
from tests.jobs.builders import identity_for, make_job
from tests.jobs.rules.builders import USER, against, make_rules, warned

pytestmark = pytest.mark.django_db


def test_jobs_that_wait_and_run_count(cluster: Cluster, view: ClusterView, alice: User) -> None:
    name = identity_for(cluster, alice).name
    make_job(cluster, alice, state="PENDING", qos="tiny", account="research", task_count=1)
    assert against(view, make_rules(cluster, name), qos="tiny") == {}
    make_job(cluster, alice, qos="tiny", account="research")
    assert "you have 2" in against(view, make_rules(cluster, name), qos="tiny")["qos"]
    assert against(view, make_rules(cluster, name), qos="high") == {}


@pytest.mark.parametrize(
    ("bounds", "qos", "fields", "field", "told"),
    [
        (
            Bounds(all_submitted=4),
            NO_BOUNDS,
            {"account": "vision", "array": "0-1"},
            "array",
            "all together have 3",
        ),
        (Bounds(all_submitted=2), NO_BOUNDS, {"account": "vision"}, "account", "all together have 3"),
        (NO_BOUNDS, Bounds(all_submitted=3), {"qos": "high"}, "qos", "all together have 3"),
        (NO_BOUNDS, Bounds(account_submitted=2), {"qos": "high"}, "qos", "all together have 2"),
        (
            Bounds(all_running=0),
            NO_BOUNDS,
            {"account": "vision"},
            "account",
            "Account research lets no job run.",
        ),
        (Bounds(all_wall_minutes=0), NO_BOUNDS, {}, "account", "Account research lets no job run."),
        (NO_BOUNDS, Bounds(all_wall_minutes=0), {"qos": "high"}, "qos", "QOS high lets no job run."),
    ],
)
def test_limits_of_groups_count_everybodys_jobs(
    cluster: Cluster,
    view: ClusterView,
    alice: User,
    bounds: Bounds,
    qos: Bounds,
    fields: dict[str, str],
    field: str,
    told: str,
) -> None:
    three_open(cluster, alice)
    rules = make_rules(
        cluster,
        USER,
        bounds=bounds,
        qos=(Qos(name="normal"), Qos(name="high", bounds=qos)),
    )
    assert told in against(view, rules, **fields)[field]


@pytest.mark.parametrize(
    ("bounds", "qos", "fields", "told"),
    [
        (Bounds(all_submitted=4), NO_BOUNDS, {"account": "vision"}, ""),
        (
            Bounds(all_submitted=1),
            Bounds(all_submitted=9),
            {"qos": "high"},
            "",
        ),  # what a QOS sets counts alone
        (Bounds(all_running=1), NO_BOUNDS, {}, "Account research allows at most 1 running at once"),
        (Bounds(all_running=2), NO_BOUNDS, {}, ""),
        (Bounds(all_wall_minutes=60), NO_BOUNDS, {"time_limit_minutes": "60"}, ""),
        (
            Bounds(all_wall_minutes=60),
            NO_BOUNDS,
            {"time_limit_minutes": "61"},
            "Account research allows 1:00:00 (d-hh:mm:ss) of all jobs together",
        ),
    ],
)
def test_what_only_delays_is_a_warning(
    cluster: Cluster,
    view: ClusterView,
    alice: User,
    bounds: Bounds,
    qos: Bounds,
    fields: dict[str, str],
    told: str,
) -> None:
    three_open(cluster, alice)
    rules = make_rules(
        cluster,
        USER,
        bounds=bounds,
        qos=(Qos(name="normal"), Qos(name="high", bounds=qos)),
    )
    notes = warned(view, rules, **fields)
    assert told in notes if told else not notes


def three_open(cluster: Cluster, other: User) -> None:
    """Of somebody else: one that runs in research, one that waits there and one in vision below it."""
    make_job(cluster, other, state="RUNNING", qos="high", account="research")
    make_job(cluster, other, state="PENDING", qos="high", account="research")
    make_job(cluster, other, state="PENDING", qos="high", account="vision")
