"""Answers that all versions write alike."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from clusters.clients.slurmrest.dialects.base import opened, present
from clusters.clients.slurmrest.listings import LicenseRecord, ReservationRecord
from clusters.clients.slurmrest.models import Diag
from clusters.clients.slurmrest.wire import Envelope, WireNumber, count, moment
from portal.lib.http import Answer

# requests to slurmctld that change nothing; an unheard-of one counts as a change
_QUESTION: Final = re.compile(r"REQUEST_(\w+_INFO(_SINGLE)?|PING|JOB_STATE)")


class _Requests(msgspec.Struct):
    message_type: str = ""
    count: WireNumber = None


class _Statistics(msgspec.Struct):
    req_time: WireNumber = None
    jobs_pending: WireNumber = None
    jobs_running: WireNumber = None
    jobs_submitted: WireNumber = None
    jobs_started: WireNumber = None
    jobs_completed: WireNumber = None
    jobs_canceled: WireNumber = None
    jobs_failed: WireNumber = None
    schedule_cycle_total: WireNumber = None
    schedule_queue_length: WireNumber = None
    bf_cycle_counter: WireNumber = None
    rpcs_by_message_type: list[_Requests] | None = None


class _Diag(Envelope):
    statistics: _Statistics | None = None


class _Reservation(msgspec.Struct):
    name: str
    start_time: WireNumber = None
    end_time: WireNumber = None
    node_list: str | None = None
    node_count: WireNumber = None
    core_count: WireNumber = None
    partition: str | None = None
    users: str | None = None
    accounts: str | None = None
    groups: str | None = None
    features: str | None = None
    licenses: str | None = None
    tres: str | None = None
    flags: list[str] | None = None


class _Reservations(Envelope):
    reservations: list[_Reservation] | None = None


class _License(msgspec.Struct, rename="pascal"):
    name: str = msgspec.field(name="LicenseName")
    total: WireNumber = None
    used: WireNumber = None
    free: WireNumber = None
    reserved: WireNumber = None
    remote: bool = False


class _Licenses(Envelope):
    licenses: list[_License] | None = None


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
        doings=_doings(found),
    )


def _doings(found: _Statistics) -> tuple[int, ...]:
    if not found.rpcs_by_message_type:
        return ()
    requests = [one for one in found.rpcs_by_message_type if not _QUESTION.fullmatch(one.message_type)]
    # a cycle of the scheduler that had no job to think about changed none
    cycles = count(found.schedule_cycle_total) if count(found.schedule_queue_length) else 0
    counts = (found.jobs_pending, found.jobs_running, found.jobs_submitted, found.jobs_started)
    ends = (found.jobs_completed, found.jobs_canceled, found.jobs_failed)
    asked = sum(count(one.count) for one in requests)
    return (asked, cycles, count(found.bf_cycle_counter), *map(count, (*counts, *ends)))


def read_reservations(answer: Answer) -> tuple[ReservationRecord, ...]:
    """All reservations of an answer; raises as a decoder does."""
    return tuple(map(_reservation, present(opened(answer, _Reservations).reservations)))


def read_licenses(answer: Answer) -> tuple[LicenseRecord, ...]:
    """All licenses of an answer; raises as a decoder does."""
    return tuple(
        LicenseRecord(
            name=found.name,
            total=count(found.total),
            used=count(found.used),
            free=count(found.free),
            reserved=count(found.reserved),
            is_remote=found.remote,
        )
        for found in present(opened(answer, _Licenses).licenses)
    )


def _reservation(found: _Reservation) -> ReservationRecord:
    return ReservationRecord(
        name=found.name,
        start_time=moment(found.start_time),
        end_time=moment(found.end_time),
        nodes=found.node_list or "",
        node_count=count(found.node_count),
        core_count=count(found.core_count),
        partition=found.partition or "",
        users=found.users or "",
        accounts=found.accounts or "",
        groups=found.groups or "",
        features=found.features or "",
        licenses=found.licenses or "",
        tres=found.tres or "",
        flags=frozenset(found.flags or ()),
    )
