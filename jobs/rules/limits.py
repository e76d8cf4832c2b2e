"""Whether a request is over a limit of its QOS, of the partition's or of its account, for sure; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from clusters.clients.slurmrest.models import Unlimited
from clusters.clients.slurmrest.rules import OVER_PARTITION, Amounts, Bounds
from jobs.parsing.numbers import grouped
from jobs.parsing.time_limit import show_time_limit
from jobs.rules import words
from jobs.rules.checks import Asked, Finding
from jobs.rules.demand import Demand
from jobs.rules.view import Rule, RulesView
from jobs.services.capacity import PartitionView
from portal.lib.types import Words


@dataclass(frozen=True, slots=True)
class _Source:
    """Who sets limits; of several that set the same one the first counts."""

    title: Words
    bounds: Bounds
    account: str = ""  # its jobs count here, else those of the QOS
    qos: str = ""
    is_user: bool = False


def over(asked: Asked, demand: Demand, rules: RulesView) -> Iterator[Finding]:
    """What Slurm refuses, or keeps waiting for ever; a warning where it is not known to hold to limits."""
    holds = rules.holds_to("limits")
    if holds is False:
        return
    places: list[PartitionView | None] = [*asked.partitions] or [None]
    found = [list(_in_partition(asked, demand, rules, place)) for place in places]
    for finding in found[-1] if all(found) else ():
        yield finding if holds else Finding(finding.field, _if_held(finding.message), is_error=False)


def _if_held(message: Words) -> Words:
    return format_lazy("{} {}", message, _("It is not known whether Slurm here holds to that."))


def _in_partition(
    asked: Asked, demand: Demand, rules: RulesView, partition: PartitionView | None
) -> Iterator[Finding]:
    sources = _sources(asked, rules, partition)
    for check in (_wall, _amounts, _least, _counts):
        yield from check(asked, demand, sources, rules)
    yield from _minutes(asked, demand, sources, partition)


def _sources(asked: Asked, rules: RulesView, partition: PartitionView | None) -> list[_Source]:
    """In Slurm's own order: of the partition's QOS, of the job's (or the other way round), of accounts."""
    found: list[_Source] = []
    if partition is not None and (own := rules.qos.get(partition.qos)):
        title = format_lazy(_("QOS {qos} of partition {name}"), qos=own.name, name=partition.name)
        found.append(_Source(title, own.bounds, qos=own.name))
    if qos := rules.qos.get(asked.qos):
        mine = _Source(format_lazy(_("QOS {qos}"), qos=qos.name), qos.bounds, qos=qos.name)
        found.insert(0 if OVER_PARTITION in qos.flags else len(found), mine)
    if asked.rule is not None:
        found.append(_of_rule(asked.rule, _("Your limit in account {account}"), is_user=True))
    return found + [_of_rule(rule, _("Account {account}")) for rule in rules.chain(asked.account)]


def _of_rule(rule: Rule, title: Words, *, is_user: bool = False) -> _Source:
    named = format_lazy(title, account=rule.account)
    return _Source(named, rule.bounds, account=rule.account, is_user=is_user)


def _for_a_job(sources: list[_Source]) -> list[_Source]:
    """Limits of one job come to a user from the accounts above: Slurm tells them of the user already."""
    return [one for one in sources if one.qos or one.is_user]


def _wall(asked: Asked, _demand: Demand, sources: list[_Source], _rules: RulesView) -> Iterator[Finding]:
    limit = asked.values.get("time_limit_minutes")
    for source in _for_a_job(sources):
        most = source.bounds.wall_minutes
        if most is None:
            continue
        if isinstance(limit, Unlimited) or (isinstance(limit, int) and limit > most):
            told = _("{who} allows at most {time} (d-hh:mm:ss).")
            told = format_lazy(told, who=source.title, time=show_time_limit(most))
            yield Finding("time_limit_minutes", told)
        return


_PER: tuple[tuple[Callable[[Bounds], Amounts], Words, bool], ...] = (
    (lambda bounds: bounds.per_job, _("for one job"), True),
    (lambda bounds: bounds.per_user, _("at once for one member"), False),
    (lambda bounds: bounds.per_account, _("at once for one account"), False),
    (lambda bounds: bounds.together, _("at once for all together"), False),
)


def _amounts(_asked: Asked, demand: Demand, sources: list[_Source], _rules: RulesView) -> Iterator[Finding]:
    for pick, scope, of_job in _PER:
        chosen = _for_a_job(sources) if of_job else sources
        yield from _too_much(demand, demand.amounts, chosen, pick, scope)
    each = {name: -(-count // demand.nodes) for name, count in demand.amounts.items() if name != "node"}
    yield from _too_much(demand, each, _for_a_job(sources), lambda one: one.per_node, _("on one node"))


def _too_much(
    demand: Demand,
    wanted: Mapping[str, int],
    sources: list[_Source],
    pick: Callable[[Bounds], Amounts],
    scope: Words,
) -> Iterator[Finding]:
    for name, count in wanted.items():
        for source in _that_count(sources, name, pick):
            most = pick(source.bounds)[name]
            if count > most:
                told = format_lazy(
                    _("{who} allows at most {most} {scope}; this asks for {asked}."),
                    who=source.title,
                    most=words.amount(name, most),
                    scope=scope,
                    asked=words.amount(name, count),
                )
                yield Finding(demand.field_of(name), told)
                break


def _that_count(sources: list[_Source], name: str, pick: Callable[[Bounds], Amounts]) -> Iterator[_Source]:
    """The first QOS that sets it; where none does, each account that does."""
    for source in sources:
        if name in pick(source.bounds):
            yield source
            if source.qos:
                return


def _least(_asked: Asked, demand: Demand, sources: list[_Source], _rules: RulesView) -> Iterator[Finding]:
    if demand.is_whole:
        return
    for source in sources:
        for name, least in source.bounds.least.items():
            if name in {"cpu", "node", "gres/gpu"} and demand.amounts.get(name, 0) < least:
                told = format_lazy(
                    _("{who} is for jobs of at least {least}."),
                    who=source.title,
                    least=words.amount(name, least),
                )
                yield Finding("gpus" if name == "gres/gpu" else demand.field_of(name), told)


def _counts(_asked: Asked, demand: Demand, sources: list[_Source], rules: RulesView) -> Iterator[Finding]:
    """As many jobs as none may have, or more than there may be with those that wait and run."""
    for source in _for_a_job(sources):
        bounds = source.bounds
        if bounds.running == 0:
            yield Finding(
                "qos" if source.qos else "account", format_lazy(_("{who} lets no job run."), who=source.title)
            )
        if bounds.submitted is not None:
            yield from _one_too_many(demand, source, bounds.submitted, rules)
            break
    alone = [(source, source.bounds.all_submitted) for source in sources]
    for source, most in alone:
        if most is not None and demand.tasks > most:
            yield _too_many(demand, source, most, 0)
            break


def _one_too_many(demand: Demand, source: _Source, most: int, rules: RulesView) -> Iterator[Finding]:
    here = 0
    if demand.tasks <= most:
        here = sum(
            tasks
            for (account, qos), tasks in rules.open_jobs().items()
            if (qos == source.qos if source.qos else account == source.account)
        )
    if demand.tasks + here > most:
        yield _too_many(demand, source, most, here)


def _too_many(demand: Demand, source: _Source, most: int, here: int) -> Finding:
    field = "array" if demand.tasks > 1 else "qos" if source.qos else "account"
    told = _("{who} takes at most {most} jobs that wait or run; this would be {asked}.")
    if here:
        told = _(
            "{who} takes at most {most} jobs that wait or run; you have {here}, and this would be {asked}."
        )
    facts = {"most": grouped(most), "here": grouped(here), "asked": grouped(demand.tasks)}
    return Finding(field, format_lazy(told, who=source.title, **facts))


def _minutes(
    asked: Asked, demand: Demand, sources: list[_Source], partition: PartitionView | None
) -> Iterator[Finding]:
    """CPUs, GPUs ... for as long as the time limit."""
    limit = minutes_of(asked, partition)
    if limit is None:
        return
    wanted = {name: count * limit for name, count in demand.amounts.items()}
    for name, asks in wanted.items():
        for source in _that_count(_for_a_job(sources), name, lambda one: one.minutes_per_job):
            most = source.bounds.minutes_per_job[name]
            if asks > most:
                told = format_lazy(
                    _("{who} allows at most {most} for one job; this asks for {asked}."),
                    who=source.title,
                    most=words.hours(name, most),
                    asked=words.hours(name, asks),
                )
                yield Finding("time_limit_minutes", told)


def minutes_of(asked: Asked, partition: PartitionView | None) -> int | None:
    """The time limit that it has or gets; None where that is not known."""
    limit = asked.values.get("time_limit_minutes")
    if limit is None and partition is not None:
        limit = partition.default_time
    return limit if isinstance(limit, int) and not isinstance(limit, bool) else None
