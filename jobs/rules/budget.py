"""What is left of budgets: minutes of resources that an account or a member may use in all (GrpTRESMins)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from jobs.rules import words
from jobs.rules.checks import Asked, Finding
from jobs.rules.demand import Demand
from jobs.rules.limits import minutes_of
from jobs.rules.view import Rule, RulesView
from portal.lib.types import Words


@dataclass(frozen=True, slots=True)
class Budget:
    """One resource of one account, or of one member in it. Minutes."""

    account: str
    user: str
    resource: str
    limit: int
    used: int | None  # None: this version of Slurm's API does not tell

    @property
    def left(self) -> int | None:
        """Never below 0."""
        return None if self.used is None else max(self.limit - self.used, 0)

    @property
    def title(self) -> Words:
        """Whose it is."""
        whose = _("Your part of account {account}") if self.user else _("Account {account}")
        return format_lazy(whose, account=self.account)

    @property
    def short(self) -> Words:
        """The same where it is plain whose it is."""
        most = words.hours(self.resource, self.limit)
        if self.left is None:
            return format_lazy(_("{most} in all; what is left is not told"), most=most)
        left = words.hours(self.resource, self.left)
        return format_lazy(_("{left} of {most} left"), left=left, most=most)

    @property
    def text(self) -> Words:
        """What is left, in a sentence."""
        most = words.hours(self.resource, self.limit)
        if self.left is None:
            told = _("{whose} may use {most} in all. How much is left, this Slurm's API does not tell.")
            return format_lazy(told, whose=self.title, most=most)
        told = _("{whose}: {left} of {most} left.")
        return format_lazy(told, whose=self.title, left=words.hours(self.resource, self.left), most=most)


def budgets_of(rule: Rule, rules_used: dict[tuple[str, str], dict[str, int]] | None) -> list[Budget]:
    """Of one association."""
    known = None if rules_used is None else rules_used.get((rule.account, rule.user), {})
    return [
        Budget(rule.account, rule.user, name, limit, None if known is None else known.get(name, 0))
        for name, limit in sorted(rule.bounds.minutes.items())
    ]


def budgets(asked: Asked, rules: RulesView) -> list[Budget]:
    """All from which this request would be taken."""
    own = [asked.rule] if asked.rule is not None else []
    used = None if rules.used is None else {key: dict(spent) for key, spent in rules.used.items()}
    return [one for rule in (*own, *rules.chain(asked.account)) for one in budgets_of(rule, used)]


def spent(asked: Asked, demand: Demand, rules: RulesView) -> Iterator[Finding]:
    """A budget that is used up, or that would be if the job ran to its time limit."""
    holds = rules.holds_to("limits")
    if holds is False:
        return
    limits = [minutes_of(asked, place) for place in asked.partitions]
    longest = None if not limits or None in limits else min(limit for limit in limits if limit is not None)
    for one in budgets(asked, rules):
        wanted = demand.amounts.get(one.resource, 0)
        if one.left is None or not wanted:
            continue
        if one.left == 0:
            told = format_lazy(_("{left} Jobs wait until use that is long ago counts less."), left=one.text)
            yield Finding("account", told, is_error=bool(holds))
        elif longest is not None and wanted * longest * demand.tasks > one.left:
            yield _would_be(one, wanted * longest * demand.tasks, rules, is_one=wanted * longest > one.left)


def _would_be(one: Budget, asks: int, rules: RulesView, *, is_one: bool) -> Finding:
    """With "safe" Slurm begins nothing that could go over; else it ends what runs when all is used."""
    is_safe = is_one and "safe" in (rules.enforces or ())
    then = (
        _("Slurm starts no job that could use more than is left.")
        if is_safe
        else _("Slurm ends jobs that still run when all is used.")
    )
    told = _("{left} This asks for up to {asked}. {then}")
    message = format_lazy(told, left=one.text, asked=words.hours(one.resource, asks), then=then)
    return Finding("time_limit_minutes", message, is_error=is_safe)
