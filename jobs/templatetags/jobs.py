"""What the jobs templates need besides their context."""

from __future__ import annotations

from django import template

from clusters.models import Node
from jobs import words
from jobs.examples import EXAMPLES, Example
from jobs.models import Job
from jobs.parsing.memory import show_memory
from jobs.parsing.options import OPTIONS
from jobs.words import told, why_waiting

register = template.Library()
NARROW = 32  # characters


@register.simple_tag
def built_in_examples() -> tuple[Example, ...]:
    """The scripts to begin with."""
    return EXAMPLES


@register.filter
def short_label(job: Job) -> str:
    """The id of a line for a narrow column: of an array of many single tasks not all."""
    label = job.line_label
    return label if len(label) <= NARROW else f"{label[: NARROW - 1]}\N{HORIZONTAL ELLIPSIS}"


@register.filter
def memory(mebibytes: int | None) -> str:
    """16 GiB, "all of the node" for 0."""
    return show_memory(mebibytes)


@register.filter
def why(reason: str) -> str:
    """Why a job waits, in a sentence."""
    return why_waiting(reason)


@register.filter
def kept(text: str) -> str:
    """What was kept with a submit in English, in the reader's language."""
    return told(text)


@register.filter
def counts(job: Job) -> str:
    """How many tasks of an array, or parts of a set, are in which state."""
    return words.counts_of(job)


@register.filter
def free(node: Node, what: str) -> int:
    """GPUs or CPUs of a node that a job could get now; none of one that is down or drained."""
    have, used = (node.gpus, node.gpus_used) if what == "gpus" else (node.cpus, node.cpus_used)
    return max(0, have - used) if node.available else 0


@register.simple_tag
def sbatch_options() -> list[dict[str, object]]:
    """What an editor offers behind #SBATCH: every option that is sent, with what it does."""
    return [
        {
            "name": option.name,
            "text": str(option.text),
            "example": option.example,
            "value": option.takes == "value",
        }
        for option in OPTIONS
        if option.field
    ]
