"""Answers that all versions write alike."""

from __future__ import annotations

import msgspec

from clusters.clients.slurmrest.dialects.base import opened, present
from clusters.clients.slurmrest.models import Diag
from clusters.clients.slurmrest.wire import Envelope, WireNumber, count, moment
from portal.lib.http import Answer


class _Statistics(msgspec.Struct):
    req_time: WireNumber = None
    jobs_pending: WireNumber = None
    jobs_running: WireNumber = None


class _Diag(Envelope):
    statistics: _Statistics | None = None


class Submitted(Envelope):
    """To a submit; what stands in it beside an id differs."""

    job_id: int | None = None


def read_diag(answer: Answer) -> Diag:
    """The controller's clock and counts; raises as a decoder does."""
    found = present(opened(answer, _Diag).statistics)
    return Diag(
        req_time=present(moment(found.req_time)),
        jobs_pending=count(found.jobs_pending),
        jobs_running=count(found.jobs_running),
    )
