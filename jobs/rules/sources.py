"""Who sets limits for a request, in the order in which Slurm asks them; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from clusters.clients.slurmrest.rules import OVER_PARTITION, Amounts, Bounds
from jobs.rules.checks import Asked
from jobs.rules.view import OpenJobs, Rule, RulesView
from jobs.services.capacity import PartitionView
from portal.lib.types import Words


@dataclass(frozen=True, slots=True)
class Source:
    """Who sets limits; of several that set the same one the first counts."""

    title: Words
    bounds: Bounds
    account: str = ""  # its jobs count here and those of accounts below, else those of the QOS
    qos: str = ""
    partition: str = ""  # whose QOS it is: all of its jobs count
    is_user: bool = False

    def counts(self, jobs: OpenJobs, rules: RulesView) -> bool:
        """Whether some jobs are among those that it limits."""
        if self.qos:
            return jobs.qos == self.qos or jobs.partition == self.partition != ""
        if self.is_user:
            return jobs.is_mine and jobs.account == self.account
        return any(rule.account == self.account for rule in rules.chain(jobs.account))


def sources_of(asked: Asked, rules: RulesView, partition: PartitionView | None) -> list[Source]:
    """In Slurm's own order: of the partition's QOS, of the job's (or the other way round), of accounts."""
    found: list[Source] = []
    if partition is not None and (own := rules.qos.get(partition.qos)):
        title = format_lazy(_("QOS {qos} of partition {name}"), qos=own.name, name=partition.name)
        found.append(Source(title, own.bounds, qos=own.name, partition=partition.name))
    if qos := rules.qos.get(asked.qos):
        mine = Source(format_lazy(_("QOS {qos}"), qos=qos.name), qos.bounds, qos=qos.name)
        found.insert(0 if OVER_PARTITION in qos.flags else len(found), mine)
    if asked.rule is not None:
        found.append(_of_rule(asked.rule, _("Your limit in account {account}"), is_user=True))
    return found + [_of_rule(rule, _("Account {account}")) for rule in rules.chain(asked.account)]


def _of_rule(rule: Rule, title: Words, *, is_user: bool = False) -> Source:
    named = format_lazy(title, account=rule.account)
    return Source(named, rule.bounds, account=rule.account, is_user=is_user)


def for_a_job(sources: Sequence[Source]) -> list[Source]:
    """Limits of one job come to a user from the accounts above: Slurm tells them of the user already."""
    return [one for one in sources if one.qos or one.is_user]


def that_set(sources: Sequence[Source], is_set: Callable[[Bounds], bool]) -> Iterator[Source]:
    """The first QOS that sets a limit; where none does, each account that does."""
    for source in sources:
        if is_set(source.bounds):
            yield source
            if source.qos:
                return


def that_count(sources: Sequence[Source], name: str, pick: Callable[[Bounds], Amounts]) -> Iterator[Source]:
    """The same of a limit that is set for each resource."""
    return that_set(sources, lambda bounds: name in pick(bounds))
