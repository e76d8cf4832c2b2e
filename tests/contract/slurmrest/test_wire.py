"""Numbers in all of Slurm's forms, texts that count GPUs, and bodies that are not quite JSON."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.gres import Gpus, add_gpus, parse_gpus
from clusters.clients.slurmrest.models import UNLIMITED, JobRecord, Limit, NodeRecord
from clusters.clients.slurmrest.wire import NumberObject, WireNumber, decode, moment, number
from portal.lib.errors import OutsideError
from portal.lib.types import JSONDict
from tests.cases import case
from tests.contract.slurmrest.replay import answer, gateway


class _Holder(msgspec.Struct):
    value: WireNumber = None


@case("U13")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"set":false,"infinite":false,"number":0}', None),
        ('{"set":true,"infinite":true,"number":0}', UNLIMITED),
        ('{"set":false,"infinite":true,"number":0}', UNLIMITED),
        ('{"set":true,"infinite":false,"number":7}', 7),
        ('{"set":true,"infinite":false,"number":2.0}', 2),
        ("4294967294", None),
        ("4294967295", UNLIMITED),
        ("18446744073709551614", None),
        ("18446744073709551615", UNLIMITED),
        ('{"set":true,"number":4294967294}', None),
        ("null", None),
        ("{}", None),
        ("-1", UNLIMITED),
        ("0", 0),
        ("3000000000", 3000000000),
        ("NaN", None),
        ("Infinity", UNLIMITED),
        ("-Infinity", None),
        ('{"set":true,"infinite":false,"number":NaN}', None),
    ],
)
def test_optional_numbers(text: str, expected: Limit) -> None:
    found = decode(f'{{"value": {text}}}'.encode(), _Holder)
    assert number(found.value) == expected


@case("U13")
def test_start_zero_is_no_estimate() -> None:
    assert moment(0) is None
    assert moment(NumberObject(set=True, number=0)) is None
    assert moment(1796040144) == 1796040144


@case("U13")
def test_a_user_id_above_two_thirty_one() -> None:
    body = {"errors": [], "jobs": [{"job_id": 1, "job_state": "RUNNING", "user_id": 4_000_000_000}]}
    (job,) = gateway("v0.0.38", answer(200, body)).job(1)
    assert job.user_id == 4_000_000_000


@case("U03", "U13")
def test_one_odd_job_does_not_hide_the_queue() -> None:
    odd = b'{"errors":[],"jobs":[{"job_id":1,"job_state":"PENDING","name":"\xff\xfe","priority":NaN},'
    odd += b'{"job_id":2,"job_state":"RUNNING","name":"\\ud800","comment":"nul\\u0000"},'
    odd += '{"job_id":3,"job_state":"RUNNING","name":"数据-训练 🚀"}]}'.encode()
    found = gateway("v0.0.38", answer(200, odd)).jobs()
    assert found is not None
    assert [job.job_id for job in found.jobs] == [1, 2, 3]
    assert found.jobs[0].name == "\ufffd\ufffd"
    assert found.jobs[1].comment == "nul\ufffd"
    assert found.jobs[2].name == "数据-训练 🚀"
    for job in found.jobs:
        assert job.name.encode()


def test_a_wrong_type_is_told_by_its_place_and_not_by_its_content() -> None:
    body = {"jobs": [{"job_id": 1, "job_state": "RUNNING", "name": ["<b>secret</b>"]}]}
    with pytest.raises(errors.BadAnswer) as caught:
        gateway("v0.0.38", answer(200, body)).jobs()
    assert "$.jobs[0].name" in caught.value.extract
    assert "<b>" not in caught.value.extract
    assert "secret" not in caught.value.message


def test_unknown_keys_and_missing_ones_do_no_harm() -> None:
    body = {"jobs": [{"job_id": 1, "job_state": "RUNNING", "brand_new": {"a": [1]}}], "also": 1}
    (job,) = gateway("v0.0.38", answer(200, body)).job(1)
    assert (job.name, job.user_name, job.gpus.total) == ("", None, 0)


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=9)
)
def test_any_json_is_read_or_refused_in_one_way(value: object) -> None:
    body = json.dumps({"errors": [], "jobs": value}).encode()
    try:
        found = gateway("v0.0.38", answer(200, body)).jobs()
    except errors.BadAnswer:
        return
    assert found is not None
    assert value == []
    assert found.jobs == ()


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_in_one_way(body: bytes) -> None:
    with pytest.raises(OutsideError):
        gateway("v0.0.38", answer(200, body)).nodes()


@pytest.mark.parametrize(
    ("word", "state", "flag", "finished"),
    [
        ("COMPLETED", "COMPLETED", "", True),
        ("COMPLETING", "RUNNING", "COMPLETING", False),
        ("CONFIGURING", "RUNNING", "CONFIGURING", False),
        ("REQUEUE_HOLD", "PENDING", "REQUEUE_HOLD", False),
        ("OUT_OF_MEMORY", "OUT_OF_MEMORY", "", True),
        ("BRAND_NEW", "UNKNOWN", "BRAND_NEW", False),
    ],
)
def test_states_of_the_old_family(word: str, state: str, flag: str, finished: bool) -> None:
    (job,) = gateway("v0.0.38", answer(200, {"jobs": [{"job_id": 1, "job_state": word}]})).job(1)
    assert (job.state, "".join(job.flags), job.is_finished) == (state, flag, finished)


def test_states_of_the_new_family() -> None:
    body = {"jobs": [{"job_id": 1, "job_state": ["COMPLETED", "COMPLETING"]}]}
    (job,) = gateway("v0.0.44", answer(200, body)).job(1)
    assert (job.state, "".join(job.flags), job.is_finished) == ("COMPLETED", "COMPLETING", False)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(0, (0, 0, False)), (768, (3, 0, False)), (15, (0, 15, False)), (139, (0, 11, True))],
)
def test_raw_wait_statuses(raw: int, expected: tuple[int, int, bool]) -> None:
    body = {"jobs": [{"job_id": 1, "job_state": "FAILED", "exit_code": raw}]}
    (job,) = gateway("v0.0.38", answer(200, body)).job(1)
    assert job.exit_code is not None
    assert (job.exit_code.status, job.exit_code.signal, job.exit_code.core_dumped) == expected


@case("U06")
def test_all_memory_of_the_node_is_zero_and_not_unknown() -> None:
    record: JSONDict = {"job_id": 1, "job_state": "RUNNING", "memory_per_node": None, "memory_per_cpu": None}
    (job,) = gateway("v0.0.38", answer(200, {"jobs": [record]})).job(1)
    assert (job.memory_per_node, job.memory_per_cpu) == (0, None)
    record["memory_per_cpu"] = 100
    (job,) = gateway("v0.0.38", answer(200, {"jobs": [record]})).job(1)
    assert (job.memory_per_node, job.memory_per_cpu) == (None, 100)


@case("U20")
@pytest.mark.parametrize(
    ("text", "total", "models"),
    [
        ("gpu:8", 8, {}),
        ("gpu:h100:8(S:0-1)", 8, {"h100": 8}),
        ("gpu:h100:4(IDX:0-2,5),mps:100", 4, {"h100": 4}),
        ("gpu:(null)", 0, {}),
        ("gpu:(null):0", 0, {}),
        ("gres/gpu=8", 8, {}),
        ("gpu:a100:2,gpu:h100:4", 6, {"a100": 2, "h100": 4}),
        ("", 0, {}),
        ("gres:gpu:2", 2, {}),
        ("gres/gpu:a100:2", 2, {"a100": 2}),
        ("cpu=8,mem=16000M,gres/gpu=4,gres/gpu:a100=4", 4, {"a100": 4}),
        ("gpu", 1, {}),
        ("gpu:a100", 1, {"a100": 1}),
        ("gpu:a100:0(IDX:N/A)", 0, {}),
        ("shard:32,license:3", 0, {}),
        ("N/A", 0, {}),
    ],
)
def test_texts_that_count_gpus(text: str, total: int, models: dict[str, int]) -> None:
    assert parse_gpus(text) == Gpus(total, tuple(sorted(models.items())))


@given(st.text(alphabet="gpu:=,()0123456789kKSIDX-/ares", max_size=60))
def test_any_text_counts_to_something(text: str) -> None:
    found = parse_gpus(text)
    assert found.total >= sum(dict(found.by_model).values()) >= 0


def test_gpus_of_a_job_over_its_nodes() -> None:
    parts = [parse_gpus("gpu:a100:2(IDX:0-1)"), parse_gpus("gpu:h100:1(IDX:3)")]
    assert add_gpus(parts) == Gpus(3, (("a100", 2), ("h100", 1)))


@case("U20")
@pytest.mark.parametrize(
    ("state", "flags"), [("DOWN", []), ("IDLE", ["DRAIN"]), ("MIXED", ["NOT_RESPONDING"])]
)
def test_gpus_of_a_dead_node_are_installed_but_not_available(state: str, flags: list[str]) -> None:
    node = NodeRecord(name="n1", state="IDLE", gpus=Gpus(8))
    assert (node.gpus.total, node.gpus_available, node.gpus_free) == (8, 8, 8)
    dead = msgspec.structs.replace(node, state=state, flags=frozenset(flags))
    assert (dead.gpus.total, dead.gpus_available, dead.gpus_free) == (8, 0, 0)


def test_records_are_immutable() -> None:
    with pytest.raises(AttributeError):
        JobRecord(job_id=1, name="x", state="RUNNING").name = "y"  # type: ignore[misc,arg-type]
