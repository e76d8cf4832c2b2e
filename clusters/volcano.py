"""How Volcano's queues and jobs are shown: as they were stored, with the look of a status."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.dateparse import parse_datetime
from django.utils.translation import pgettext

from clusters.models import WorkloadSnapshot
from clusters.reasons import sentence_of
from portal.lib.types import JSONDict

MOST_SHOWN = 100
# Volcano's own words, by the status of ours that looks alike
LIKE: Mapping[str, str] = {
    "Open": "ready",
    "Closed": "ended",
    "Closing": "draining",
    "Pending": "pending",
    "Running": "running",
    "Restarting": "working",
    "Completing": "completing",
    "Completed": "completed",
    "Aborting": "removing",
    "Aborted": "cancelled",
    "Terminating": "removing",
    "Terminated": "ended",
    "Failed": "failed",
}


def shown(seen: WorkloadSnapshot | None) -> JSONDict:
    """Queues, the first jobs, whether there are more, and why nothing newer was seen."""
    if seen is None:
        return {"queues": [], "jobs": [], "more": False, "why": ""}
    jobs = [
        {
            **job,
            "status": LIKE.get(job["phase"], "unknown" if job["phase"] else "waiting"),
            "word": job["phase"] or pgettext("a job", "Not seen by Volcano yet"),
            "made_at": parse_datetime(job["created_at"]) if job["created_at"] else None,
        }
        for job in seen.jobs[:MOST_SHOWN]
    ]
    queues = [
        {
            **queue,
            "status": LIKE.get(queue["state"], "unknown"),
            "waiting": queue["pending"] + queue["inqueue"],
        }
        for queue in seen.queues
    ]
    return {
        "queues": queues,
        "jobs": jobs,
        "more": seen.jobs_all > len(jobs),
        "why": sentence_of(seen.trouble),
    }
