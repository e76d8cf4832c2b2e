"""What to ask for next time, from what a job took."""

from __future__ import annotations

from django.utils.translation import gettext as _

from jobs.history.models import JobUse

SHORT = 60  # seconds; a shorter job says little
LOW_CPU, LOW_MEMORY, LOW_GPU, HIGH_MEMORY = 40.0, 30.0, 30.0, 95.0


def advice_of(use: JobUse) -> list[str]:
    """Short sentences; none where all is well or nothing was gathered."""
    if use.elapsed_seconds < SHORT:
        return []
    found = []
    if use.cpus > 1 and use.cpu_percent is not None and use.cpu_percent < LOW_CPU:
        found.append(_("Most of its CPUs were idle. Ask for fewer, or have the program use more threads."))
    if use.memory_percent is not None and use.memory_percent < LOW_MEMORY:
        found.append(_("It held much less memory than it was given. A smaller request may start sooner."))
    if use.memory_percent is not None and use.memory_percent > HIGH_MEMORY:
        found.append(_("Its memory was nearly full. A little more makes the next run safer."))
    if use.gpu_percent is not None and use.gpu_percent < LOW_GPU:
        found.append(_("Its GPUs waited most of the time. Look at how data reaches them."))
    return found
