"""Whether a member may ask for an account, a QOS and a partition, as accounting told last; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from clusters.clients.slurmrest.rules import ANY_NODES, ANY_TIME
from jobs.rules import words
from jobs.rules.view import EXACT, HIERARCHICAL, Rule, RulesView
from jobs.services.capacity import ClusterView, PartitionView
from portal.lib.types import Words


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that speaks against a request; only an error stops it, and even that may be overruled."""

    field: str
    message: Words
    is_error: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """For whom a request would run, as far as that is known."""

    values: Mapping[str, object]
    account: str
    rule: Rule | None  # the member's in that account
    qos: str  # "": not known
    partitions: tuple[PartitionView, ...]  # any of which may be taken


def asked_of(values: Mapping[str, object], view: ClusterView, rules: RulesView) -> Asked:
    """The account, the QOS and the partitions that Slurm would take."""
    named = values.get("partition")
    if isinstance(named, str):
        found = [view.find(name) for name in named.split(",")]
        partitions = tuple(one for one in found if one is not None)
    else:
        partitions = (view.default,) if view.default else view.partitions
    account = rules.account_of(values)
    rule = rules.association(account, tuple(one.name for one in partitions))
    return Asked(values, account, rule, rules.qos_of(values, rule), partitions)


def eased(values: Mapping[str, object], view: ClusterView, rules: RulesView) -> ClusterView:
    """The cluster without those limits of its partitions that do not count for the QOS of this request."""
    if rules.max_array_size is not None:
        view = replace(view, max_array_size=rules.max_array_size)
    qos = rules.qos.get(asked_of(values, view, rules).qos)
    flags = qos.flags if qos else ()
    if ANY_TIME not in flags and ANY_NODES not in flags:
        return view
    partitions = tuple(
        replace(
            one,
            max_time=None if ANY_TIME in flags else one.max_time,
            max_nodes=None if ANY_NODES in flags else one.max_nodes,
        )
        for one in view.partitions
    )
    return replace(view, partitions=partitions)


def who(asked: Asked, rules: RulesView) -> Iterator[Finding]:
    """Accounts and QOS: those that exist, and those that this member may use."""
    yield from _account(asked, rules)
    yield from _qos(asked, rules)
    yield from _partitions(asked, rules)


def _account(asked: Asked, rules: RulesView) -> Iterator[Finding]:
    if not rules.mine or not asked.values.get("account") or asked.rule is not None:
        return
    own = ", ".join(sorted({rule.account for rule in rules.mine}))
    there = {"name": asked.account, "own": own}
    if asked.account in rules.accounts or any(rule.account == asked.account for rule in rules.mine):
        told = format_lazy(_("You are not in account {name}. You are in: {own}."), **there)
    else:
        told = format_lazy(_("There is no account {name} here. You are in: {own}."), **there)
    if rules.holds_to("associations") is False:
        told = format_lazy("{} {}", told, _("Slurm here takes any account, and counts the job for it."))
        yield Finding("account", told, is_error=False)
    else:
        yield Finding("account", told)


def _qos(asked: Asked, rules: RulesView) -> Iterator[Finding]:
    if not asked.values.get("qos") or not rules.qos:
        return
    allowed = asked.rule.qos if asked.rule else ()
    if asked.qos not in rules.qos:
        there = ", ".join(sorted(allowed or rules.qos))
        told = format_lazy(_("There is no QOS {name} here. There are: {there}."), name=asked.qos, there=there)
        taken: Words = _("Slurm here takes the job all the same, without any QOS.")
    elif allowed and asked.qos not in allowed:
        there = ", ".join(allowed)
        told = format_lazy(_("QOS {name} is not yours. Yours are: {there}."), name=asked.qos, there=there)
        taken = _("Slurm here takes the job all the same.")
    else:
        return
    if rules.holds_to("qos") is False:
        yield Finding("qos", format_lazy("{} {}", told, taken), is_error=False)
    else:
        yield Finding("qos", told)


def _partitions(asked: Asked, rules: RulesView) -> Iterator[Finding]:
    """Of several partitions the first that fits is taken, so a reason holds if it holds in each."""
    found = [_closed(asked, rules, one) for one in asked.partitions]
    if found and all(found):
        last = found[-1]
        assert last is not None  # noqa: S101  # all of them are
        yield last


def _closed(asked: Asked, rules: RulesView, partition: PartitionView) -> Finding | None:
    account, qos, name = asked.account, asked.qos, partition.name
    told: Words | None = None
    field = "account" if asked.values.get("account") else "partition"
    if account and partition.allowed_accounts and not _is_among(account, partition.allowed_accounts, rules):
        there = ", ".join(partition.allowed_accounts)
        told = _("Partition {name} is for the accounts {there}, and not for {account}.")
        told = format_lazy(told, name=name, there=there, account=account)
    elif account and _is_denied(account, partition.denied_accounts, rules):
        told = format_lazy(_("Partition {name} is not for account {account}."), name=name, account=account)
    elif qos and partition.allowed_qos and qos not in partition.allowed_qos:
        field = "qos" if asked.values.get("qos") else "partition"
        there = ", ".join(partition.allowed_qos)
        told = _("Partition {name} is for the QOS {there}, and not for {qos}.")
        told = format_lazy(told, name=name, there=there, qos=qos)
    elif qos and qos in partition.denied_qos:
        field = "qos" if asked.values.get("qos") else "partition"
        told = format_lazy(_("Partition {name} is not for QOS {qos}."), name=name, qos=qos)
    return None if told is None else Finding(field, told)


def _is_among(account: str, named: tuple[str, ...], rules: RulesView) -> bool:
    """Itself or, but for old releases, one that is above it; where in doubt, yes."""
    if account in named:
        return True
    if rules.release and rules.release[:2] <= EXACT:
        return False
    above = [rule.account for rule in rules.chain(account)]
    return not above or bool(set(above) & set(named))


def _is_denied(account: str, named: tuple[str, ...], rules: RulesView) -> bool:
    """Where in doubt, no."""
    if account in named:
        return True
    is_new = bool(rules.release) and rules.release[:2] >= HIERARCHICAL
    return is_new and any(rule.account in named for rule in rules.chain(account))


def dated(finding: Finding, rules: RulesView) -> Finding:
    """With the age of what it relies on."""
    return replace(finding, message=format_lazy("{} {}", finding.message, words.seen(rules.observed_at)))
