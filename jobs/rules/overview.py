"""Each QOS and each account of a cluster: what it allows, and who uses it now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
from django.db.models import Count, Sum

from clusters.clients.slurmrest.models import Limit
from clusters.clients.slurmrest.rules import Bounds, Qos
from clusters.models import Cluster, SlurmIdentity
from jobs.models import Job, JobState, Partition, Rules, UserRule
from jobs.rules import words
from jobs.rules.budget import Budget, budgets_of
from jobs.rules.view import WAITS_OR_RUNS, Rule, default_qos, enforced, rule_of, used_of
from portal.lib.types import JSONDict, Words
from tenants.actor import Actor


@dataclass(slots=True)
class Now:
    """Jobs as last seen; an array counts each of its tasks."""

    running: int = 0
    waiting: int = 0
    members: set[str] = field(default_factory=set)

    def note(self, state: str, user: str, tasks: int) -> None:
        """Tasks of one user in one state."""
        self.members.add(user)
        if state == JobState.PENDING:
            self.waiting += tasks
        else:
            self.running += tasks


@dataclass(frozen=True, slots=True)
class QosFacts:
    """One QOS."""

    qos: Qos
    now: Now
    is_mine: bool  # the one who looks may ask for it
    is_default: bool  # theirs, where they ask for none
    partitions: tuple[str, ...]  # whose jobs it limits

    @property
    def priority(self) -> Limit:
        """As Slurm adds it, times its weight."""
        return self.qos.priority

    @property
    def limits(self) -> list[Words]:
        """In words."""
        return [*words.in_words(self.qos.bounds), *words.flags_in_words(self.qos)]

    @property
    def facts(self) -> JSONDict:
        """The limits for programs."""
        return facts_of(self.qos.bounds)


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """One account."""

    rule: Rule
    now: Now
    members: int  # who may charge to it
    is_mine: bool
    budgets: tuple[Budget, ...]

    @property
    def limits(self) -> list[Words]:
        """In words."""
        return words.in_words(self.rule.bounds)

    @property
    def facts(self) -> JSONDict:
        """The limits for programs."""
        return facts_of(self.rule.bounds)


@dataclass(frozen=True, slots=True)
class Overview:
    """All of a cluster."""

    qos: list[QosFacts]
    accounts: list[AccountFacts]
    enforces: frozenset[str] | None
    observed_at: dt.datetime

    @property
    def holds_to_limits(self) -> bool | None:
        """Whether Slurm holds to what stands here; None where that is not known."""
        return None if self.enforces is None else bool(self.enforces & {"limits", "safe"})


def facts_of(bounds: Bounds) -> JSONDict:
    """Limits by name, without those that there are none of."""
    found: JSONDict = msgspec.to_builtins(bounds)
    return found


def overview_of(actor: Actor, cluster: Cluster) -> Overview | None:
    """None where nothing was told yet. Six queries, whatever the numbers."""
    row = Rules.objects.for_actor(actor).filter(cluster=cluster).first()
    if row is None:
        return None
    by_qos, by_account = _now(actor, cluster)
    mine = _mine(actor, cluster)
    used = used_of(row)
    default = next((rule for rule in mine if rule.is_default), None)
    of_root = next((one.get("default_qos", "") for one in row.accounts if one["account"] == "root"), "")
    named = default_qos(default, of_root) if default else ""
    places = _partitions(actor, cluster)
    rows = UserRule.objects.for_actor(actor).filter(cluster=cluster).values("account").order_by()
    members = dict(rows.annotate(count=Count("user", distinct=True)).values_list("account", "count"))
    allowed = {name for rule in mine for name in rule.qos}
    every = sorted(msgspec.convert(row.qos, list[Qos]), key=lambda one: (-_number(one.priority), one.name))
    return Overview(
        qos=[
            QosFacts(
                qos=one,
                now=by_qos.get(one.name, Now()),
                is_mine=one.name in allowed,
                is_default=one.name == named,
                partitions=tuple(places.get(one.name, ())),
            )
            for one in every
        ],
        accounts=[
            AccountFacts(
                rule=one,
                now=by_account.get(one.account, Now()),
                members=members.get(one.account, 0),
                is_mine=any(rule.account == one.account for rule in mine),
                budgets=tuple(budgets_of(one, used)),
            )
            for one in sorted(msgspec.convert(row.accounts, list[Rule]), key=lambda one: one.account)
            if one.account != "root"  # Slurm's own
        ],
        enforces=enforced(cluster, row),
        observed_at=row.observed_at,
    )


def _number(limit: Limit) -> int:
    return limit if isinstance(limit, int) else 0


def _now(actor: Actor, cluster: Cluster) -> tuple[dict[str, Now], dict[str, Now]]:
    """By QOS and by account."""
    rows = Job.objects.for_actor(actor).filter(cluster=cluster, state__in=WAITS_OR_RUNS).order_by()
    counted = rows.values_list("qos", "account", "user_name", "state").annotate(tasks=Sum("task_count"))
    by_qos: dict[str, Now] = {}
    by_account: dict[str, Now] = {}
    for qos, account, user, state, tasks in counted:
        by_qos.setdefault(qos, Now()).note(state, user, tasks)
        by_account.setdefault(account, Now()).note(state, user, tasks)
    return by_qos, by_account


def _mine(actor: Actor, cluster: Cluster) -> list[Rule]:
    """What holds for the accounts of the one who looks."""
    names = SlurmIdentity.objects.filter(
        cluster=cluster, active=True, membership__user=actor.user, membership__ended_at=None
    )
    rows = UserRule.objects.for_actor(actor).filter(cluster=cluster, user__in=names.values("name"))
    return [rule_of(row) for row in rows.order_by("pk")]


def _partitions(actor: Actor, cluster: Cluster) -> dict[str, list[str]]:
    """Names of partitions by the QOS that limits them."""
    found: dict[str, list[str]] = {}
    rows: Iterable[tuple[str, str]] = (
        Partition.objects.for_actor(actor)
        .filter(cluster=cluster)
        .exclude(qos="")
        .order_by("name")
        .values_list("qos", "name")
    )
    for qos, name in rows:
        found.setdefault(qos, []).append(name)
    return found
