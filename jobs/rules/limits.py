"""Whether a request is over a limit of its QOS, of the partition's or of its account, for sure; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from clusters.clients.slurmrest.models import Unlimited
from clusters.clients.slurmrest.rules import Amounts, Bounds
from jobs.parsing.time_limit import show_time_limit
from jobs.rules import words
from jobs.rules.checks import Asked, Finding
from jobs.rules.counts import counts, wall_of_all
from jobs.rules.demand import Demand
from jobs.rules.sources import Source, for_a_job, sources_of, that_count
from jobs.rules.view import RulesView
from jobs.services.capacity import PartitionView
from portal.lib.types import Words


def over(asked: Asked, demand: Demand, rules: RulesView) -> Iterator[Finding]:
    """What Slurm refuses, or keeps waiting for ever; a warning where it is not known to hold to limits."""
    holds = rules.holds_to("limits")
    if holds is False:
        return
    places: list[PartitionView | None] = [*asked.partitions] or [None]
    found = [list(_in_partition(asked, demand, rules, place)) for place in places]
    is_stopped = all(any(finding.is_error for finding in told) for told in found)
    for finding in found[-1] if all(found) else ():
        if is_stopped or not finding.is_error:
            yield finding if holds else Finding(finding.field, _if_held(finding.message), is_error=False)


def _if_held(message: Words) -> Words:
    return format_lazy("{} {}", message, _("It is not known whether Slurm here holds to that."))


def _in_partition(
    asked: Asked, demand: Demand, rules: RulesView, partition: PartitionView | None
) -> Iterator[Finding]:
    sources = sources_of(asked, rules, partition)
    for check in (_wall, wall_of_all, _amounts, _least, counts):
        yield from check(asked, demand, sources, rules)
    yield from _minutes(asked, demand, sources, partition)


def _wall(asked: Asked, _demand: Demand, sources: list[Source], _rules: RulesView) -> Iterator[Finding]:
    limit = asked.values.get("time_limit_minutes")
    for source in for_a_job(sources):
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


def _amounts(_asked: Asked, demand: Demand, sources: list[Source], _rules: RulesView) -> Iterator[Finding]:
    for pick, scope, of_job in _PER:
        chosen = for_a_job(sources) if of_job else sources
        yield from _too_much(demand, demand.amounts, chosen, pick, scope)
    each = {name: -(-count // demand.nodes) for name, count in demand.amounts.items() if name != "node"}
    yield from _too_much(demand, each, for_a_job(sources), lambda one: one.per_node, _("on one node"))


def _too_much(
    demand: Demand,
    wanted: Mapping[str, int],
    sources: list[Source],
    pick: Callable[[Bounds], Amounts],
    scope: Words,
) -> Iterator[Finding]:
    for name, count in wanted.items():
        for source in that_count(sources, name, pick):
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


def _least(_asked: Asked, demand: Demand, sources: list[Source], _rules: RulesView) -> Iterator[Finding]:
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


def _minutes(
    asked: Asked, demand: Demand, sources: list[Source], partition: PartitionView | None
) -> Iterator[Finding]:
    """CPUs, GPUs ... for as long as the time limit."""
    limit = minutes_of(asked, partition)
    if limit is None:
        return
    wanted = {name: count * limit for name, count in demand.amounts.items()}
    for name, asks in wanted.items():
        for source in that_count(for_a_job(sources), name, lambda one: one.minutes_per_job):
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
