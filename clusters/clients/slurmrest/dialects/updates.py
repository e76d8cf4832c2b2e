"""The part of a change that all families write alike, and their answers to it."""

from __future__ import annotations

from typing import Final

import msgspec

from clusters.clients.slurmrest.changes import JobChanges, UpdateResult
from clusters.clients.slurmrest.dialects.records import texts
from clusters.clients.slurmrest.errors import ErrorEntry, clean, from_entries
from clusters.clients.slurmrest.wire import Envelope, decode
from portal.lib.http import Answer
from portal.lib.types import JSONDict

NOT_PERSISTENT: Final = 2095  # of a priority: it was changed, and Slurm may change it again


class _Result(msgspec.Struct):
    job_id: int | str | None = None
    error_code: int | None = None
    error: str | None = None
    why: str | None = None


class _Updated(Envelope):
    results: list[_Result] | None = None


def shared_changes(changes: JobChanges) -> JSONDict:
    """The keys that have one form everywhere; what is None is left out."""
    throttle = changes.array_throttle
    keys: JSONDict = {
        "hold": changes.hold,
        "name": changes.name,
        "comment": changes.comment,
        "partition": changes.partition,
        "nice": changes.nice,
        "qos": changes.qos,
        "account": changes.account,
        "reservation": changes.reservation,
        "licenses": changes.licenses,
        "constraints": changes.constraints,
        "dependency": changes.dependency,
        "nodes": None if changes.nodes is None else str(changes.nodes),
        # only so: "%4" and "0-9%4" take the limit away
        "array": None if throttle is None else str(throttle),
    }
    return {key: value for key, value in keys.items() if value is not None}


def read_update(answer: Answer) -> UpdateResult:
    """What an answer of status 200 says; raises what it complains about."""
    wire = decode(answer.body, _Updated)
    telling = [entry for entry in wire.errors or () if not _is_done(entry)]
    vague = [entry for entry in telling if _is_of_an_array(entry)]
    if telling and len(telling) != len(vague):
        raise from_entries(telling, status=answer.status, seconds=answer.seconds)
    results = wire.results or []
    refused = tuple((str(one.job_id or ""), _words(one)) for one in results if one.error_code)
    if results and len(refused) == len(results):
        first = results[0]
        entry = ErrorEntry(error=_words(first), error_number=first.error_code)
        raise from_entries([entry], status=answer.status, seconds=answer.seconds)
    done = [entry for entry in wire.errors or () if _is_done(entry)]
    return UpdateResult(warnings=texts(done, wire.warnings), refused=refused, is_certain=not vague)


def _is_done(entry: ErrorEntry) -> bool:
    return entry.code == NOT_PERSISTENT


def _is_of_an_array(entry: ErrorEntry) -> bool:
    """22.05 says this of every change of an array, made or not."""
    return entry.code is None and (entry.description or "").startswith("job array update from ")


def _words(one: _Result) -> str:
    return clean(one.why or one.error or "", 300)
