"""What accounting allows one member in a cluster, as last told; without it nothing is checked."""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from django.db.models import Sum

from clusters.clients.slurmrest.rules import NO_BOUNDS, Bounds, Qos
from clusters.models import Cluster, SlurmEndpoint
from jobs.limits.service import are_wanted
from jobs.models import Job, JobState, Rules, UserRule
from jobs.parsing.options.table import Target

NORMAL = "normal"  # the QOS that Slurm takes where nothing else says which
HIERARCHICAL = (24, 11)  # from here on seen: partitions name accounts with all that are below them
EXACT = (22, 5)  # seen: they name accounts one by one
KEPT_FOR = 5.0  # seconds
MOST_KEPT = 1024  # members
WAITS_OR_RUNS = (JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED)


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An account, or one user in it."""

    account: str
    user: str = ""
    partition: str = ""  # holds there only
    parent: str = ""
    is_default: bool = False
    qos: tuple[str, ...] = ()  # that may be asked for; empty: not told
    default_qos: str = ""
    bounds: Bounds = NO_BOUNDS


@dataclass(frozen=True, slots=True)
class OpenJobs:
    """Jobs that wait or that run, as last seen: so many of one member in one account, QOS and partition."""

    account: str
    qos: str
    partition: str
    is_mine: bool
    is_running: bool
    tasks: int


@dataclass(frozen=True, slots=True)
class RulesView:
    """All QOS and accounts, and what holds for one user."""

    qos: Mapping[str, Qos]
    accounts: Mapping[str, Rule]
    mine: tuple[Rule, ...]  # empty: not known there yet, so nothing of it is checked
    observed_at: dt.datetime
    enforces: frozenset[str] | None = None  # None: not known
    max_array_size: int | None = None
    used: Mapping[tuple[str, str], Mapping[str, int]] | None = None  # minutes, by account and user
    release: tuple[int, ...] = ()
    open_jobs: Callable[[], Sequence[OpenJobs]] = tuple  # of everybody

    def holds_to(self, what: str) -> bool | None:
        """Whether Slurm refuses or keeps back what is against this; None where that is not known."""
        if self.enforces is None:
            return None
        if what == "associations":  # each of the others brings these with it
            return bool(self.enforces)
        return what in self.enforces or (what == "limits" and "safe" in self.enforces)

    def association(self, account: str, partitions: tuple[str, ...]) -> Rule | None:
        """The user's in an account: the one for the partition before the one for all."""
        own = [rule for rule in self.mine if rule.account == account]
        chosen = [rule for rule in own if rule.partition in {"", *partitions}]
        return max(chosen, key=lambda rule: rule.partition, default=None)

    def account_of(self, values: Mapping[str, object]) -> str:
        """The account that is named, else the user's default one; "" where that is not known."""
        named = values.get("account")
        if isinstance(named, str) and named:
            return named.lower()  # as Slurm reads it
        return next((rule.account for rule in self.mine if rule.is_default), "")

    def chain(self, account: str) -> Iterator[Rule]:
        """An account and those above it."""
        seen: set[str] = set()
        while account and account not in seen:
            seen.add(account)
            rule = self.accounts.get(account)
            if rule is None:
                return
            yield rule
            account = rule.parent

    def qos_of(self, values: Mapping[str, object], rule: Rule | None) -> str:
        """The QOS that is named, else the one that Slurm takes; "" where that is not known."""
        named = values.get("qos")
        if isinstance(named, str) and named:
            return named.lower()
        if rule is None or not rule.qos:
            return ""
        root = self.accounts.get("root")
        return default_qos(rule, root.default_qos if root else "")


def default_qos(rule: Rule, of_root: str) -> str:
    """The QOS of a job that asks for none, as Slurm chooses it."""
    only = rule.qos[0] if len(rule.qos) == 1 else ""
    return rule.default_qos or only or of_root or NORMAL


def rules_of(cluster: Cluster, user: str) -> RulesView | None:
    """What holds for a user's account in the cluster; None where nothing was told."""
    row = Rules.objects.filter(cluster=cluster).first()
    if row is None:
        return None
    return RulesView(
        qos={one.name: one for one in msgspec.convert(row.qos, list[Qos])},
        accounts={one.account: one for one in msgspec.convert(row.accounts, list[Rule])},
        mine=tuple(map(rule_of, UserRule.objects.filter(cluster=cluster, user=user).order_by("pk"))),
        observed_at=row.observed_at,
        enforces=enforced(cluster, row),
        max_array_size=row.max_array_size,
        used=used_of(row),
        release=_release(cluster),
        open_jobs=cache(lambda: _open_jobs(cluster, user)),
    )


_kept: dict[tuple[uuid.UUID, str], tuple[float, RulesView | None]] = {}  # of this process


def recent_rules(cluster: Cluster, user: str) -> RulesView | None:
    """As rules_of, at most a few seconds old: for many submits of one member."""
    key, now = (cluster.pk, user), time.monotonic()
    kept = _kept.get(key)
    if kept is not None and now - kept[0] < KEPT_FOR:
        return kept[1]
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    found = rules_of(cluster, user)
    _kept[key] = now, found
    return found


def rule_of(row: UserRule) -> Rule:
    """As it was kept."""
    facts: dict[str, Any] = {"user": row.user, "account": row.account, "partition": row.partition}
    return msgspec.convert(facts | row.rule | {"is_default": row.is_default}, Rule)


def used_of(row: Rules) -> dict[tuple[str, str], dict[str, int]] | None:
    """Minutes that were used, by account and user."""
    if row.used is None:
        return None
    return {(one["account"], one["user"]): one["minutes"] for one in row.used}


def enforced(cluster: Cluster, row: Rules) -> frozenset[str] | None:
    """What Slurm holds to: as it tells, else as we wrote its configuration, else not known."""
    if row.enforces is not None:
        return frozenset(row.enforces)
    if cluster.site.drivers.get("slurm") == "local":
        return frozenset({"associations", "limits"}) if are_wanted(cluster) else frozenset()
    return None


def _release(cluster: Cluster) -> tuple[int, ...]:
    found = SlurmEndpoint.objects.filter(cluster=cluster).values_list("api_version", "release").first()
    return Target.of(*found).release if found else ()


def _open_jobs(cluster: Cluster, user: str) -> tuple[OpenJobs, ...]:
    """In tasks; those that are suspended keep their place among the running ones."""
    rows = Job.objects.filter(cluster=cluster, state__in=WAITS_OR_RUNS).order_by()
    named = ("account", "qos", "partition", "user_name", "state")
    counted = rows.values_list(*named).annotate(tasks=Sum("task_count"))
    return tuple(
        OpenJobs(account, qos, partition, name == user, state != JobState.PENDING, tasks)
        for account, qos, partition, name, state, tasks in counted
    )
