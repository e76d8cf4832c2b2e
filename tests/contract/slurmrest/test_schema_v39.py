"""v0.0.39, which no Debian release serves: requests and answers under Slurm's published schema of it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema
import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.changes import JobChanges
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.dialects.submit import can_carry
from clusters.clients.slurmrest.models import UNLIMITED, ExitCode, GpuRequest, JobRecord, SubmitRequest
from portal.lib.types import JSONDict
from tests.cases import case
from tests.contract.slurmrest.replay import ACCOUNT, FOLDER, Replay, answer, gateway, recorded, recording

V39, V40 = "v0.0.39", "v0.0.40"
ENVIRONMENT = {"PATH": "/bin:/usr/bin"}
FULL: JSONDict = {
    "name": "full",
    "partition": "gpu",
    "account": "lab",
    "qos": "high",
    "reservation": "maint",
    "nodes": 2,
    "tasks": 4,
    "cpus_per_task": 2,
    "gpus": GpuRequest(count=2, model="a100"),
    "memory_mib": 500,
    "time_limit_minutes": UNLIMITED,
    "working_directory": "/scratch",
    "stdout": "out",
    "stderr": "err",
    "comment": "a comment",
    "dependency": "afterok:5",
    "array": "0-3%2",
    "begin": 2_000_000_000,
    "nice": 5,
    "requeue": False,
    "hold": True,
}


@cache
def schema() -> JSONDict:
    """The document, with every object closed: a key that it does not name is an error."""
    document: JSONDict = json.loads((FOLDER / "v0.0.39-schema.json").read_text(encoding="utf-8"))
    _close(document["components"]["schemas"])
    return document


def _close(part: Any) -> None:
    if isinstance(part, dict):
        if isinstance(part.get("properties"), dict):
            part.setdefault("additionalProperties", False)
        for value in part.values():
            _close(value)


def check(name: str, value: object) -> None:
    """Raise jsonschema.ValidationError if the value is none of this kind."""
    jsonschema.validate(value, {"$ref": f"#/components/schemas/v0.0.39_{name}", **schema()})


def sent(request: SubmitRequest | None = None, changes: JobChanges | None = None) -> JSONDict:
    """The body that goes out."""
    said: JSONDict = {"job_id": 5} if request else {"errors": []}
    replay = Replay(answer(200, said))
    speaker = RestGateway("http://127.0.0.1:1", V39, ACCOUNT, lambda: "token", session=replay)
    if request:
        speaker.submit(request)
    else:
        speaker.update("12", changes or JobChanges())
    body: JSONDict = json.loads(replay.asked[0][2] or b"")
    return body


def written(kind: str, row: JSONDict) -> JSONDict:
    """A row of v0.0.40's in the types of the schema; keys that it does not name are left out."""
    known = schema()["components"]["schemas"][f"v0.0.39_{kind}"]["properties"]
    return {
        key: value["number"] if isinstance(value, dict) and known[key].get("type") == "integer" else value
        for key, value in row.items()
        if key in known and key not in OTHER
    }


OTHER = {"cron", "power", "profile", "job_resources", "derived_exit_code", "shared", "flags", "mail_type"}
OTHER |= {"cpu_load", "energy", "external_sensors"}  # of other types there, and nothing that we read


def as_v39(name: str) -> JSONDict:
    """What v0.0.40 answered, as v0.0.39 writes it: one word as state, a raw wait status."""
    jobs: list[JSONDict] = []
    for job in recording(V40, name)["body"]["jobs"]:
        exit_code = job["exit_code"]
        code, signal = exit_code["return_code"]["number"], exit_code["signal"]["id"]["number"]
        raw = {"set": True, "infinite": False, "number": (code << 8) | signal}
        jobs.append(written("job_info", {**job, "job_state": job["job_state"][0], "exit_code": raw}))
    return {"jobs": jobs, "errors": [], "warnings": []}


def test_the_schema_refuses_what_is_wrong() -> None:
    good = {"script": "#!/bin/sh\n", "job": {"environment": ["A=b"], "name": "x"}}
    check("job_submission", good)
    for bad in ({"nmae": "x"}, {"environment": {"A": "b"}}, {"time_limit": 5}, {"begin_time": {"number": 5}}):
        with pytest.raises(jsonschema.ValidationError):
            check("job_submission", {**good, "job": {**good["job"], **bad}})  # type: ignore[dict-item]


def test_a_submit_is_what_the_schema_allows() -> None:
    for request in (
        SubmitRequest(script="#!/bin/sh\n", environment=ENVIRONMENT),
        SubmitRequest(script="#!/bin/sh\n", environment=ENVIRONMENT, **FULL),
    ):
        check("job_submission", sent(request))
    job = sent(SubmitRequest(script="#!/bin/sh\n", environment=ENVIRONMENT, **FULL))["job"]
    assert (job["begin_time"], job["tres_per_node"]) == (2_000_000_000, "gres/gpu:a100:2")


def test_texts_of_sbatchs_options_have_keys_of_the_schema() -> None:
    names = ("licenses", "constraint", "prefer", "wckey", "mail_user", "mcs_label", "admin_comment")
    known = {name for name in names if name in SubmitRequest.__struct_fields__ and can_carry(name, V39)}
    assert len(known) > 1
    given: JSONDict = dict.fromkeys(known, "text")
    check("job_submission", sent(SubmitRequest(script="#!/bin/sh\n", environment=ENVIRONMENT, **given)))


def test_a_change_is_what_the_schema_allows() -> None:
    changes = JobChanges(
        hold=False,
        name="n",
        comment="c",
        partition="p",
        time_limit_minutes=5,
        nice=3,
        priority=7,
        qos="q",
        account="a",
        reservation="r",
        licenses="l:1",
        constraints="c",
        dependency="",
        begin=2_000_000_000,
        nodes=2,
        memory_mib=5,
        requeue=False,
        array_throttle=2,
    )
    body = sent(changes=changes)
    check("job_desc_msg", {**body, "environment": ["A=b"]})  # the document requires it of changes too
    assert set(changes.asked) <= set(JobChanges.__struct_fields__)
    assert len(body) == len(changes.asked)


@pytest.mark.parametrize(
    "name", ["job-running-gpu", "job-array-pending", "job-failed", "job-held", "job-het", "job-completed"]
)
def test_jobs_read_the_same_as_from_the_next_version(name: str) -> None:
    body = as_v39(name)
    check("jobs_response", body)
    assert gateway(V39, answer(200, body)).job(1) == gateway(V40, recorded(V40, name)).job(1)


@pytest.mark.parametrize(
    ("word", "raw", "state", "ended"),
    [
        ("COMPLETING", 0, "RUNNING", ExitCode()),
        ("FAILED", 768, "FAILED", ExitCode(status=3)),
        ("CANCELLED", 15, "CANCELLED", ExitCode(signal=15)),
        ("RUNNING", 0, "RUNNING", None),
        ("REQUEUE_HOLD", 0, "PENDING", None),
    ],
)
def test_states_and_ends_are_those_of_the_old_family(
    word: str, raw: int, state: str, ended: ExitCode | None
) -> None:
    number = {"set": True, "infinite": False, "number": raw}
    job = {"job_id": 1, "job_state": word, "exit_code": number}
    check("jobs_response", {"jobs": [job]})
    found: JobRecord
    (found,) = gateway(V39, answer(200, {"jobs": [job]})).job(1)
    assert (found.state, found.exit_code) == (state, ended)


def test_nodes_ping_and_licenses() -> None:
    meta = {"Slurm": {"release": "23.11.10"}}
    body = {"pings": [{"hostname": "c1", "pinged": "UP", "mode": "primary"}], "meta": meta}
    check("pings", body)
    ping = gateway(V39, answer(200, body)).ping()
    assert (ping.responding, ping.release, ping.controller) == (True, "23.11.10", "c1")
    nodes = [written("node", row) for row in recording(V40, "nodes-busy")["body"]["nodes"]]
    check("nodes_response", {"nodes": nodes})
    expected = gateway(V40, recorded(V40, "nodes-busy")).nodes()
    assert gateway(V39, answer(200, {"nodes": nodes})).nodes() == expected
    licenses = [written("license", row) for row in recording(V40, "licenses-some")["body"]["licenses"]]
    check("licenses_info", {"licenses": licenses})
    assert {one.total for one in gateway(V39, answer(200, {"licenses": licenses})).licenses()} == {2, 4}


def test_a_partitions_state_and_the_default_are_not_told() -> None:
    part = {
        "name": "gpu",
        "nodes": {"configured": "n[1-2]", "total": 2},
        "cpus": {"total": 16},
        "maximums": {"time": {"set": True, "infinite": False, "number": 720}},
    }
    check("partitions_response", {"partitions": [part]})
    one, two = gateway(V39, answer(200, {"partitions": [part, part]})).partitions()
    assert (one.state, one.is_default, one.max_time, one.total_nodes) == ("UNKNOWN", False, 720, 2)
    (only,) = gateway(V39, answer(200, {"partitions": [part]})).partitions()
    assert (only.is_default, two.is_default) == (True, False)


def test_unchanged_is_asked_by_a_plain_number() -> None:
    warning = {"description": "No job changes since update_time=1796040159", "source": "_op_handler_jobs"}
    replay = Replay(answer(200, {"jobs": [], "warnings": [warning], "errors": []}))
    speaker = RestGateway("http://127.0.0.1:1", V39, ACCOUNT, lambda: "token", session=replay)
    assert speaker.jobs(unchanged_since=1796040159) is None
    assert replay.asked[0][1] == "/slurm/v0.0.39/jobs?update_time=1796040159"
    full = as_v39("job-running-gpu")
    full["jobs"][0]["comment"] = "No job changes since"
    found = gateway(V39, answer(200, full)).jobs(unchanged_since=1)
    assert found is not None
    assert len(found.jobs) == 1


@case("U18")
def test_missing_keys_count_as_empty() -> None:
    (job,) = gateway(V39, answer(200, {"jobs": [{"job_id": 7, "job_state": "PENDING"}]})).job(7)
    assert (job.name, job.exit_code, job.paths_expanded) == ("", None, False)
    with pytest.raises(errors.BadAnswer):
        gateway(V39, answer(200, {"errors": []})).job(7)
