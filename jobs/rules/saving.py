"""Reads what accounting allows, beside what it tells of jobs, and keeps it."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass

import msgspec
import structlog
from django.db import transaction

from clusters.clients.slurmrest.accounting import SlurmAccounting
from clusters.clients.slurmrest.past import Association
from clusters.clients.slurmrest.rules import Qos, Settings, Share
from clusters.models import Cluster
from jobs.models import Rules, UserRule
from jobs.rules.view import Rule
from portal.lib.errors import OutsideError
from portal.lib.types import JSONDict

log = structlog.get_logger(__name__)
MOST_USERS = 5_000  # associations of users; a cluster with more is cut


@dataclass(frozen=True, slots=True)
class Told:
    """What Slurm told of one cluster."""

    qos: tuple[Qos, ...]
    associations: tuple[Association, ...]
    shares: tuple[Share, ...] | None
    settings: Settings


def read(books: SlurmAccounting, name: str) -> Told | None:
    """None where this Slurm does not tell it now: what is told of jobs does not wait for it."""
    try:
        told = Told(books.qos(), books.associations(), books.shares(), books.settings())
    except OutsideError as error:
        log.info("rules.not_read", cluster=name, trouble=error.message)
        return None
    mine = tuple(one for one in told.associations if one.limits.cluster == name)
    return Told(told.qos, mine, told.shares, told.settings)


def save(cluster: Cluster, told: Told, *, seen_at: dt.datetime) -> None:
    """Write it down; users only where anything changed."""
    rules = [_rule(one) for one in told.associations]
    accounts = [_packed(one) for one in rules if not one.user]
    users = [one for one in rules if one.user][:MOST_USERS]
    qos = [msgspec.to_builtins(one) for one in told.qos]
    digest = hashlib.sha256(msgspec.json.encode([qos, accounts, users])).hexdigest()
    facts: JSONDict = {
        "qos": qos,
        "accounts": accounts,
        "used": _used(rules, told.shares),
        "enforces": None if told.settings.enforces is None else list(told.settings.enforces),
        "max_array_size": told.settings.max_array_size,
        "digest": digest,
        "observed_at": seen_at,
    }
    with transaction.atomic():
        before = Rules.objects.select_for_update().filter(cluster=cluster).first()
        Rules.objects.update_or_create(cluster=cluster, defaults=facts)
        if before is None or before.digest != digest:
            _save_users(cluster, users)


def _save_users(cluster: Cluster, users: list[Rule]) -> None:
    UserRule.objects.filter(cluster=cluster).delete()
    UserRule.objects.bulk_create(
        [
            UserRule(
                cluster=cluster,
                user=one.user[:64],
                account=one.account[:200],
                partition=one.partition[:200],
                is_default=one.is_default,
                rule={name: value for name, value in _packed(one).items() if name in _KEPT},
            )
            for one in users
        ],
        batch_size=500,
        ignore_conflicts=True,
    )


_KEPT = ("qos", "default_qos", "bounds")


def _rule(told: Association) -> Rule:
    return Rule(
        account=told.limits.account,
        user=told.limits.user,
        partition=told.partition,
        parent=told.parent,
        is_default=bool(told.limits.user) and told.is_default,
        qos=tuple(sorted(told.qos)),
        default_qos=told.default_qos,
        bounds=told.bounds,
    )


def _packed(rule: Rule) -> JSONDict:
    packed: JSONDict = msgspec.to_builtins(rule)
    return packed


def _used(rules: list[Rule], shares: tuple[Share, ...] | None) -> list[JSONDict] | None:
    """Whole minutes of those resources of which there is a budget."""
    if shares is None:
        return None
    known = {(one.account, one.user, one.partition): one.used_seconds for one in shares}
    return [
        {
            "account": rule.account,
            "user": rule.user,
            "minutes": {name: int(spent.get(name, 0) // 60) for name in rule.bounds.minutes},
        }
        for rule in rules
        if rule.bounds.minutes and (spent := known.get((rule.account, rule.user, rule.partition))) is not None
    ]
