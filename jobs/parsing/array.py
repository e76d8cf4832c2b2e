"""Job arrays: how many tasks a text means, before Slurm reads it in its own lenient way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.parsing.numbers import grouped
from jobs.parsing.refusal import Refusal

LARGEST_SIZE = 4_000_001  # the most that Slurm's MaxArraySize can be
LONGEST = 1000  # characters; Slurm takes 1024
SHOWN = 8
FORMS = gettext_lazy("Write for example 0-15, 1-10%2 (two at a time), 0-15:4 or 1,3,5-7.")

_SPAN = re.compile(r"(\d{1,8})(?:-(\d{1,8})(?::(\d{1,8}))?)?", re.ASCII)
_IN_BRACKETS = re.compile(r"\[([^\[\]]*)\]((?:%.*)?)", re.ASCII)
_AT_ONCE = re.compile(r"\d{1,8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Array:
    """A text that Slurm reads in the same way as we do."""

    text: str
    count: int
    at_once: int | None  # None: no limit
    first: tuple[int, ...]  # the lowest indices, at most eight

    @property
    def preview(self) -> str:
        """For people: 4 tasks (0, 4, 8, 12); 10 tasks (1, 2, 3 ...), 2 at a time."""
        shown = ", ".join(map(str, self.first)) + (" ..." if self.count > len(self.first) else "")
        count = ngettext("%(count)s task", "%(count)s tasks", self.count) % {"count": grouped(self.count)}
        limit = _(", %(count)d at a time") % {"count": self.at_once} if self.at_once else ""
        return f"{count} ({shown}){limit}"


def parse_array(text: str, *, max_size: int | None = None) -> Array | None:
    """The tasks of an array, or None for blank. `max_size` is the cluster's MaxArraySize. Raises Refusal.

    Slurm reads "%2" as task 0, and "%0" or "%x" as "no limit": both are refused here.
    """
    word = re.sub(r"\s*,\s*", ",", text.strip())
    if not word:
        return None
    if match := _IN_BRACKETS.fullmatch(word):  # as squeue writes it, and sbatch takes it
        word = match[1] + match[2]
    spans_text, percent, limit = word.partition("%")
    if not spans_text:
        raise Refusal(_("The tasks before %% are missing. %(forms)s") % {"forms": FORMS})
    if len(word) > LONGEST:
        raise Refusal(
            _("At most %(most)d characters. Use one array for each part of the work.") % {"most": LONGEST}
        )
    spans = [_span(part, (max_size or LARGEST_SIZE) - 1) for part in spans_text.split(",")]
    count, first = _union(spans)
    return Array(text=word, count=count, at_once=_at_once(limit) if percent else None, first=first)


def _union(spans: list[range]) -> tuple[int, tuple[int, ...]]:
    """How many different tasks there are, and the lowest ones."""
    if sum(map(len, spans)) > LARGEST_SIZE:
        raise Refusal(_("These are more tasks than one array can have."))
    chosen = bytearray(max(span[-1] for span in spans) + 1)
    for span in spans:
        chosen[span.start : span.stop : span.step] = b"\1" * len(span)
    return chosen.count(1), tuple(islice((index for index, is_in in enumerate(chosen) if is_in), SHOWN))


def _span(part: str, largest: int) -> range:
    match = _SPAN.fullmatch(part)
    if match is None:
        raise Refusal(
            _('"%(part)s" is not a task or a range of tasks. %(forms)s') % {"part": part[:40], "forms": FORMS}
        )
    first = int(match[1])
    last = first if match[2] is None else int(match[2])
    step = 1 if match[3] is None else int(match[3])
    if last < first:
        raise Refusal(_("The range %(part)s runs backwards. Write the lower number first.") % {"part": part})
    if step < 1:
        raise Refusal(_("The step of %(part)s must be at least 1.") % {"part": part})
    if last > largest:
        raise Refusal(_("The largest task number here is %(largest)s.") % {"largest": grouped(largest)})
    return range(first, last + 1, step)


def _at_once(limit: str) -> int:
    if _AT_ONCE.fullmatch(limit) is None or int(limit) == 0:
        raise Refusal(_("After %% stands how many tasks may run at a time: a number from 1 up.") % {})
    return int(limit)


def count_tasks(text: str) -> int:
    """How many tasks Slurm's text of a waiting array stands for, e.g. "8-10%2" or "1,3-5,..."; at least 1."""
    total = 0
    for part in text.partition("%")[0].strip("[]").split(","):
        if match := _SPAN.fullmatch(part.strip()):
            first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
            total += max(0, last - first) // max(1, step) + 1
    return max(1, total)
