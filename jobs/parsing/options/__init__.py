"""The table of all options of sbatch: what each becomes, or why it is refused. None is dropped silently."""

from __future__ import annotations

from jobs.parsing.options.getopt import Asked, read_options
from jobs.parsing.options.jobwide import JOBWIDE
from jobs.parsing.options.placement import PLACEMENT
from jobs.parsing.options.resources import RESOURCES
from jobs.parsing.options.table import Option, Target
from jobs.parsing.options.terminal import TERMINAL

OPTIONS: tuple[Option, ...] = tuple(
    sorted((*RESOURCES, *PLACEMENT, *JOBWIDE, *TERMINAL), key=lambda option: option.name)
)

__all__ = ["OPTIONS", "Asked", "Option", "Target", "read_options"]
