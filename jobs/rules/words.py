"""Limits in words, for the page about them and for what speaks against a request."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator

from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from clusters.clients.slurmrest.rules import Amounts, Bounds, Qos
from jobs.parsing.memory import show_memory
from jobs.parsing.numbers import grouped
from jobs.parsing.time_limit import show_time_limit
from portal.lib import clock
from portal.lib.types import Words

_MINUTES: dict[str, Words] = {"cpu": _("CPU-hours"), "node": _("node-hours"), "gres/gpu": _("GPU-hours")}


def _cpus(count: int) -> str:
    return ngettext("%(count)s CPU", "%(count)s CPUs", count) % {"count": grouped(count)}


def _nodes(count: int) -> str:
    return ngettext("%(count)s node", "%(count)s nodes", count) % {"count": grouped(count)}


def _gpus(count: int) -> str:
    return ngettext("%(count)s GPU", "%(count)s GPUs", count) % {"count": grouped(count)}


def _of_model(count: int, model: str) -> str:
    told = ngettext("%(count)s %(model)s GPU", "%(count)s %(model)s GPUs", count)
    return told % {"count": grouped(count), "model": model}


_COUNTED: dict[str, Callable[[int], Words]] = {
    name: lazy(counted, str) for name, counted in (("cpu", _cpus), ("node", _nodes), ("gres/gpu", _gpus))
}
_lazily_of_model = lazy(_of_model, str)


def amount(name: str, count: int) -> Words:
    """4 CPUs, 2 a100 GPUs, 64 GiB of memory, 3 license/matlab."""
    if name in _COUNTED:
        return _COUNTED[name](count)
    if name == "mem":
        return format_lazy(_("{memory} of memory"), memory=show_memory(count))
    if name.startswith("gres/gpu:"):
        return _lazily_of_model(count, name.partition(":")[2])
    return format_lazy("{} {}", grouped(count), name)


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


def in_words(bounds: Bounds) -> list[Words]:
    """Each limit in a few words; none where there are none."""
    return [*_of_counts(bounds), *_of_amounts(bounds)]


def _of_counts(bounds: Bounds) -> Iterator[Words]:
    if bounds.wall_minutes is not None:
        yield format_lazy(_("{time} for a job"), time=show_time_limit(bounds.wall_minutes))
    for count, text in (
        (bounds.running, _("running jobs of one member: {count}")),
        (bounds.submitted, _("jobs of one member that wait or run: {count}")),
        (bounds.account_running, _("running jobs of one account: {count}")),
        (bounds.account_submitted, _("jobs of one account that wait or run: {count}")),
        (bounds.all_running, _("running jobs of all together: {count}")),
        (bounds.all_submitted, _("jobs of all together that wait or run: {count}")),
    ):
        if count is not None:
            yield format_lazy(text, count=grouped(count))
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
