"""How many jobs there may be at once, against those that wait and run; and the time of all together; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from clusters.clients.slurmrest.models import Unlimited
from clusters.clients.slurmrest.rules import Bounds
from jobs.parsing.numbers import grouped
from jobs.parsing.time_limit import show_time_limit
from jobs.rules.checks import Asked, Finding
from jobs.rules.demand import Demand
from jobs.rules.sources import Source, for_a_job, that_set
from jobs.rules.view import OpenJobs, RulesView
from portal.lib.types import Words


@dataclass(frozen=True, slots=True)
class _Limit:
    """Of how many jobs: those of the member, of the account, or of all together."""

    submitted: Callable[[Bounds], int | None]  # that wait or run: Slurm takes no more
    running: Callable[[Bounds], int | None]  # the others wait
    of: str  # member, account, all


_LIMITS = (
    _Limit(lambda one: one.submitted, lambda one: one.running, "member"),
    _Limit(lambda one: one.account_submitted, lambda one: one.account_running, "account"),
    _Limit(lambda one: one.all_submitted, lambda one: one.all_running, "all"),
)


def counts(asked: Asked, demand: Demand, sources: list[Source], rules: RulesView) -> Iterator[Finding]:
    """More jobs than Slurm takes; none may run; or, as a warning, as many run as may."""
    for limit in _LIMITS:
        chosen = sources if limit.of == "all" else for_a_job(sources)
        for source, most in _set_by(chosen, limit.submitted):
            here = 0
            if demand.tasks <= most:
                here = sum(jobs.tasks for jobs in _counted(asked, source, limit, rules))
            if demand.tasks + here > most:
                yield _too_many(demand, source, most, here, is_own=limit.of == "member")
        for source, most in _set_by(chosen, limit.running):
            yield from _running(asked, source, most, limit, rules)


def _set_by(sources: list[Source], pick: Callable[[Bounds], int | None]) -> Iterator[tuple[Source, int]]:
    for source in that_set(sources, lambda bounds: pick(bounds) is not None):
        most = pick(source.bounds)
        assert most is not None  # noqa: S101  # so that_set says
        yield source, most


def _counted(asked: Asked, source: Source, limit: _Limit, rules: RulesView) -> Iterator[OpenJobs]:
    for jobs in rules.open_jobs():
        is_among = {"member": jobs.is_mine, "account": jobs.account == asked.account}.get(limit.of, True)
        if is_among and source.counts(jobs, rules):
            yield jobs


def _too_many(demand: Demand, source: Source, most: int, here: int, *, is_own: bool) -> Finding:
    told = _("{who} takes at most {most} jobs that wait or run; this would be {asked}.")
    if here and is_own:
        told = _(
            "{who} takes at most {most} jobs that wait or run; you have {here}, and this would be {asked}."
        )
    elif here:
        told = _(
            "{who} takes at most {most} jobs that wait or run; "
            "all together have {here}, and this would be {asked}."
        )
    facts = {"most": grouped(most), "here": grouped(here), "asked": grouped(demand.tasks)}
    field = "array" if demand.tasks > 1 else _field(source)
    return Finding(field, format_lazy(told, who=source.title, **facts))


def _running(asked: Asked, source: Source, most: int, limit: _Limit, rules: RulesView) -> Iterator[Finding]:
    if most == 0:
        yield Finding(_field(source), format_lazy(_("{who} lets no job run."), who=source.title))
    elif sum(jobs.tasks for jobs in _counted(asked, source, limit, rules) if jobs.is_running) >= most:
        told = _("{who} allows at most {most} running at once, and so many run now: this one waits.")
        yield Finding(_field(source), format_lazy(told, who=source.title, most=grouped(most)), is_error=False)


def wall_of_all(asked: Asked, _demand: Demand, sources: list[Source], _rules: RulesView) -> Iterator[Finding]:
    """How long all jobs together may run: Slurm takes a longer one, and ends it when that is used up."""
    limit = asked.values.get("time_limit_minutes")
    for source, most in _set_by(sources, lambda bounds: bounds.all_wall_minutes):
        if most == 0:
            yield Finding(_field(source), format_lazy(_("{who} lets no job run."), who=source.title))
        elif isinstance(limit, Unlimited) or (isinstance(limit, int) and limit > most):
            told = _(
                "{who} allows {time} (d-hh:mm:ss) of all jobs together; "
                "when that is used, Slurm ends what still runs."
            )
            message: Words = format_lazy(told, who=source.title, time=show_time_limit(most))
            yield Finding("time_limit_minutes", message, is_error=False)


def _field(source: Source) -> str:
    return "qos" if source.qos else "account"
