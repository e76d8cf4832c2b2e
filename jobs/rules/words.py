"""Limits in words, for the page about them and for what speaks against a request."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from clusters.clients.slurmrest.rules import Amounts, Bounds, Qos
from jobs.parsing.memory import show_memory
from jobs.parsing.numbers import grouped
from jobs.parsing.time_limit import show_time_limit
from portal.lib import clock
from portal.lib.types import Words

_NAMES: dict[str, Words] = {
    "cpu": _("CPUs"),
    "node": _("nodes"),
    "gres/gpu": _("GPUs"),
    "billing": _("billing units"),
}
_MINUTES: dict[str, Words] = {"cpu": _("CPU-hours"), "node": _("node-hours"), "gres/gpu": _("GPU-hours")}


def amount(name: str, count: int) -> Words:
    """4 CPUs, 2 a100 GPUs, 64 GiB, 3 license/matlab."""
    if name == "mem":
        return format_lazy(_("{memory} of memory"), memory=show_memory(count))
    if name.startswith("gres/gpu:"):
        return format_lazy(_("{count} {model} GPUs"), count=grouped(count), model=name.partition(":")[2])
    return format_lazy("{} {}", grouped(count), _NAMES.get(name, name))


def amounts(found: Amounts) -> Words:
    """All of them, by comma."""
    parts = [amount(name, count) for name, count in sorted(found.items())]
    return format_lazy(", ".join(["{}"] * len(parts)), *parts)


def hours(name: str, minutes: int) -> Words:
    """12.5 GPU-hours; of what has no such name: 750 minutes of billing."""
    if name in _MINUTES:
        return format_lazy("{} {}", f"{minutes / 60:,.1f}".removesuffix(".0"), _MINUTES[name])
    model = name.removeprefix("gres/")
    return format_lazy(_("{minutes} minutes of {resource}"), minutes=grouped(minutes), resource=model)


def seen(at: dt.datetime) -> Words:
    """How old that is which a message relies on."""
    seconds = max(0, int((clock.now() - at).total_seconds()))
    if seconds < 120:
        return format_lazy(_("Accounting as of {count} s ago."), count=seconds)
    if seconds < 7200:
        return format_lazy(_("Accounting as of {count} min ago."), count=seconds // 60)
    return format_lazy(_("Accounting as of {count} h ago."), count=seconds // 3600)


def in_words(bounds: Bounds, *, of_user: bool = False) -> list[Words]:
    """Each limit in a few words; none where there are none."""
    return [*_of_counts(bounds, of_user=of_user), *_of_amounts(bounds)]


def _of_counts(bounds: Bounds, *, of_user: bool) -> Iterator[Words]:
    one: Words = _("here") if of_user else _("of one member")
    if bounds.wall_minutes is not None:
        yield format_lazy(_("{time} for a job"), time=show_time_limit(bounds.wall_minutes))
    for count, text, whose in (
        (bounds.running, _("{count} jobs at once {whose}"), one),
        (bounds.submitted, _("{count} jobs that wait or run {whose}"), one),
        (bounds.account_running, _("{count} jobs at once {whose}"), _("of one account")),
        (bounds.account_submitted, _("{count} jobs that wait or run {whose}"), _("of one account")),
        (bounds.all_running, _("{count} jobs at once {whose}"), _("of all together")),
        (bounds.all_submitted, _("{count} jobs that wait or run {whose}"), _("of all together")),
    ):
        if count is not None:
            yield format_lazy(text, count=grouped(count), whose=whose)
    if bounds.all_wall_minutes is not None:
        time = show_time_limit(bounds.all_wall_minutes)
        yield format_lazy(_("{time} of all jobs together"), time=time)


def _of_amounts(bounds: Bounds) -> Iterator[Words]:
    for found, text in (
        (bounds.least, _("at least {amount} for a job")),
        (bounds.per_job, _("{amount} for a job")),
        (bounds.per_node, _("{amount} on a node")),
        (bounds.per_user, _("{amount} at once of one member")),
        (bounds.per_account, _("{amount} at once of one account")),
        (bounds.together, _("{amount} at once of all together")),
    ):
        if found:
            yield format_lazy(text, amount=amounts(found))
    for name, minutes in sorted(bounds.minutes_per_job.items()):
        yield format_lazy(_("{amount} for a job"), amount=hours(name, minutes))
    for name, minutes in sorted(bounds.minutes.items()):
        yield format_lazy(_("{amount} in all"), amount=hours(name, minutes))


_FLAGS: dict[str, Words] = {
    "DENY_LIMIT": _("what is over a limit is refused at once"),
    "OVERRIDE_PARTITION_QOS": _("its limits come before those of a partition"),
    "PARTITION_TIME_LIMIT": _("a partition's time limit does not count"),
    "PARTITION_MAXIMUM_NODE": _("a partition's most nodes do not count"),
    "PARTITION_MINIMUM_NODE": _("a partition's least nodes do not count"),
    "NO_RESERVE": _("no nodes are kept free for its jobs"),
    "NO_DECAY": _("what was used counts for ever"),
    "REQUIRED_RESERVATION": _("only with a reservation"),
}


def flags_in_words(qos: Qos) -> list[Words]:
    """Those that say something to a member."""
    return [_FLAGS[flag] for flag in qos.flags if flag in _FLAGS]
