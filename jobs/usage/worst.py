"""Jobs that left most of what they were given idle."""

from __future__ import annotations

from jobs.history.models import JobUse
from jobs.usage.spans import Span
from tenants.actor import Actor
from tenants.scoping import TenantQuerySet

SHORTEST = 60  # seconds; a shorter job says little
ROWS = 20


def worst(actor: Actor, span: Span | None = None) -> TenantQuerySet[JobUse]:
    """The most idle CPU time first, of jobs that ran at least a minute and whose use was gathered."""
    rows = JobUse.objects.for_actor(actor).filter(
        idle_cpu_seconds__isnull=False, elapsed_seconds__gte=SHORTEST
    )
    if span is not None:
        rows = rows.filter(ended_at__gte=span.since, ended_at__lt=span.until)
    return rows.select_related("job__cluster", "job__owner").order_by("-idle_cpu_seconds", "-id")
