"""v0.0.39 (Slurm 23.02 to 24.05): as v0.0.40, but with states of one word and raw wait statuses.

No Debian release serves it: this is from Slurm's published schema and the sources of 23.02.8 and 23.11.10.
There an array's task is not looked at where a job is changed or ended: "12_3" would be all of 12.
"""

from __future__ import annotations

import msgspec

from clusters.clients.slurmrest.changes import JobChanges
from clusters.clients.slurmrest.dialects.base import opened, present
from clusters.clients.slurmrest.dialects.leftovers import finish_paths
from clusters.clients.slurmrest.dialects.records import JobFields, job_record
from clusters.clients.slurmrest.dialects.v40 import V40
from clusters.clients.slurmrest.dialects.words import exit_code_of, one_word
from clusters.clients.slurmrest.listings import JobState
from clusters.clients.slurmrest.models import JobList, JobRecord, Ping, SubmitRequest
from clusters.clients.slurmrest.wire import Envelope, WireNumber, count, number
from portal.lib.http import Answer
from portal.lib.types import JSONDict


class _Job(JobFields, kw_only=True):
    job_state: str
    exit_code: WireNumber = None


class _Jobs(Envelope):
    jobs: list[_Job] | None = None


class _Slurm(msgspec.Struct):
    release: str = ""


class _Meta(msgspec.Struct):
    slurm: _Slurm | None = msgspec.field(default=None, name="Slurm")


class _Pings(Envelope):
    meta: _Meta | None = None


class V39(V40):
    """The dialect of v0.0.39. It does not tell a partition's state, nor which one is the default."""

    cancels_tasks = False
    lists_states = False

    def unchanged_query(self, since: int) -> str:
        """Plain epoch seconds."""
        return f"?update_time={since}"

    def encode_submit(self, request: SubmitRequest) -> JSONDict:
        """As later versions, but for a plain time of beginning."""
        body = super().encode_submit(request)
        for job in body.get("jobs") or [body["job"]]:
            _plain_begin(job)
        return body

    def encode_update(self, changes: JobChanges) -> JSONDict:
        """Likewise."""
        keys = super().encode_update(changes)
        _plain_begin(keys)
        return keys

    def states(self, answer: Answer) -> tuple[JobState, ...]:
        """There is no such list."""
        raise NotImplementedError

    def jobs(self, answer: Answer) -> JobList:
        """All records of an answer."""
        return JobList(jobs=tuple(map(_job, present(opened(answer, _Jobs).jobs))))

    def ping(self, answer: Answer) -> Ping:
        """Whether any controller answers."""
        wire = opened(answer, _Pings)
        seen = super().ping(answer)
        release = wire.meta.slurm.release if wire.meta and wire.meta.slurm else ""
        return Ping(responding=seen.responding, release=release, controller=seen.controller)


def _plain_begin(keys: JSONDict) -> None:
    if "begin_time" in keys:
        keys["begin_time"] = keys["begin_time"]["number"]


def _job(job: _Job) -> JobRecord:
    state, flags, ended = one_word(job.job_state)
    return job_record(
        job,
        state=state,
        flags=flags,
        time_limit=number(job.time_limit),
        exit_code=exit_code_of(count(job.exit_code)) if ended else None,
        expanded=finish_paths(job),
    )
