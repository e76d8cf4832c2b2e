"""What the gateway reads from recorded answers of real slurmrestds, the same for every version."""

from __future__ import annotations

import json

import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import UNLIMITED, ExitCode
from portal.lib.errors import OutsideError
from tests.cases import case
from tests.contract.slurmrest.replay import FOLDER, VERSIONS, answer, gateway, having, recorded

KNOWN_STATES = {"PENDING", "RUNNING", "COMPLETED", "CANCELLED", "FAILED"}


@pytest.mark.parametrize("version", having("job-running-gpu"))
def test_a_running_job_with_gpus(version: str) -> None:
    (job,) = gateway(version, recorded(version, "job-running-gpu")).job(15)
    assert (job.name, job.state, job.user_name, job.partition) == ("gpu", "RUNNING", "alice", "gpu")
    assert job.gpus.total == 2
    assert job.gres_detail == ("gpu:a100:2(IDX:0-1)",)
    assert job.gpus.by_model == (("a100", 2),)
    assert (job.time_limit, job.memory_per_node, job.memory_per_cpu) == (5, 500, None)
    assert (job.cpus, job.node_count, job.cpus_per_task in {None, 2}) == (2, 1, True)
    assert job.exit_code is None
    assert not job.is_finished
    assert job.start_time is not None and job.submit_time is not None
    assert job.start_time >= job.submit_time > 1_700_000_000
    assert job.shown_id == str(job.job_id)
    assert job.working_directory == "/scratch"


@pytest.mark.parametrize("version", having("job-running-gpu"))
def test_output_paths_are_expanded_where_slurm_does_it(version: str) -> None:
    (job,) = gateway(version, recorded(version, "job-running-gpu")).job(15)
    if version <= "v0.0.38":
        assert (job.standard_output, job.paths_expanded) == ("", False)
    else:
        assert (job.standard_output, job.paths_expanded) == (f"/scratch/slurm-{job.job_id}.out", True)


@case("U12")
@pytest.mark.parametrize("version", having("job-array-pending"))
def test_an_array_is_its_waiting_rest_and_its_started_tasks(version: str) -> None:
    rest, second, first = gateway(version, recorded(version, "job-array-pending")).job(17)
    array = rest.array_job_id
    assert array == rest.job_id
    assert (rest.array_task_id, rest.array_task_string) == (None, "3-8%2")
    assert (rest.state, second.state, first.state) == ("PENDING", "RUNNING", "RUNNING")
    assert rest.shown_id == f"{array}_[3-8%2]"
    assert (second.shown_id, first.shown_id) == (f"{array}_2", f"{array}_1")
    assert rest.start_time is None or rest.start_time > 1_700_000_000
    assert not rest.paths_expanded


@pytest.mark.parametrize("version", having("job-failed"))
def test_the_exit_status_of_a_failed_job(version: str) -> None:
    (job,) = gateway(version, recorded(version, "job-failed")).job(16)
    assert (job.state, job.is_finished, job.reason) == ("FAILED", True, "NonZeroExitCode")
    assert job.exit_code == ExitCode(status=3, signal=0)


@pytest.mark.parametrize("version", having("job-cancelled"))
def test_the_signal_of_a_cancelled_job(version: str) -> None:
    (job,) = gateway(version, recorded(version, "job-cancelled")).job(15)
    assert (job.state, job.is_finished) == ("CANCELLED", True)
    assert job.exit_code == ExitCode(status=0, signal=15)


@pytest.mark.parametrize("version", having("job-completed"))
def test_a_completed_job(version: str) -> None:
    (job,) = gateway(version, recorded(version, "job-completed")).job(14)
    assert (job.state, job.exit_code, job.reason) == ("COMPLETED", ExitCode(), "")
    assert job.comment == "a comment"
    assert "ok-" in job.standard_output


@pytest.mark.parametrize("version", having("job-held"))
def test_a_held_job(version: str) -> None:
    (job,) = gateway(version, recorded(version, "job-held")).job(18)
    assert (job.state, job.hold, job.priority, job.reason) == ("PENDING", True, 0, "JobHeldUser")
    assert job.start_time is None


@pytest.mark.parametrize("version", having("job-het"))
def test_parts_of_a_het_job(version: str) -> None:
    first, second = gateway(version, recorded(version, "job-het")).job(19)
    assert first.het_job_id == second.het_job_id == first.job_id
    assert first.shown_id == f"{first.job_id}+0"
    assert second.shown_id == f"{first.job_id}+1"


@pytest.mark.parametrize("version", having("job-unknown"))
def test_an_unknown_job_is_positively_not_there(version: str) -> None:
    assert gateway(version, recorded(version, "job-unknown")).job(999999) == ()


@pytest.mark.parametrize("version", having("jobs-all-head"))
def test_the_list_of_all_jobs(version: str) -> None:
    found = gateway(version, recorded(version, "jobs-all-head")).jobs()
    assert found is not None
    assert found.jobs
    assert {job.state for job in found.jobs} <= KNOWN_STATES
    assert (found.last_update is None) == (version < "v0.0.40")


@pytest.mark.parametrize("version", having("unchanged-since"))
def test_unchanged_is_not_an_empty_queue(version: str) -> None:
    asked = gateway(version, recorded(version, "unchanged-since"))
    if version in {"v0.0.40", "v0.0.41"}:  # recorded from a question that we do not ask like that
        with pytest.raises(errors.SlurmRefused):
            asked.jobs(unchanged_since=1796040159)
    else:
        assert asked.jobs(unchanged_since=1796040159) is None


@pytest.mark.parametrize("version", having("nodes-busy"))
def test_a_busy_node(version: str) -> None:
    (node,) = gateway(version, recorded(version, "nodes-busy")).nodes()
    assert node.state == "MIXED"
    assert (node.cpus, node.memory) == (8, 16000)
    assert 0 < node.cpus_allocated < 8
    assert 0 < node.memory_allocated < 16000
    assert (node.gpus.total, node.gpus_available) == (4, 4)
    assert node.gpus_allocated.total + node.gpus_free == 4
    assert node.partitions == ("debug", "gpu")
    assert node.reason_at is None
    assert node.slurmd_version.count(".") == 2


@pytest.mark.parametrize("version", having("partitions"))
def test_partitions_with_their_limits(version: str) -> None:
    debug, gpu = gateway(version, recorded(version, "partitions")).partitions()
    assert (debug.name, debug.state, gpu.name) == ("debug", "UP", "gpu")
    assert (debug.max_time, gpu.max_time, debug.default_time) == (1440, 720, 10)
    assert (debug.max_nodes, debug.total_nodes, debug.total_cpus) == (UNLIMITED, 2, 16)
    assert debug.gpus.total == 8
    assert debug.gpus.by_model == (("a100", 8),)


@pytest.mark.parametrize("version", VERSIONS)
def test_ping(version: str) -> None:
    ping = gateway(version, recorded(version, "ping")).ping()
    assert ping.responding
    assert ping.release in {"22.05.8", "24.11.5", "26.05.5"}
    assert ping.controller == "vm"


@pytest.mark.parametrize("version", having("diag"))
def test_diag_has_the_controllers_clock(version: str) -> None:
    diag = gateway(version, recorded(version, "diag")).diag()
    assert diag.req_time > 1_700_000_000
    assert diag.jobs_pending >= 0
    assert diag.jobs_running >= 0


@pytest.mark.parametrize("version", having("diag"))
def test_diag_counts_what_slurm_did_and_no_questions(version: str) -> None:
    def doings(**asked: int) -> tuple[int, ...]:
        body = json.loads(recorded(version, "diag").body)
        body["statistics"]["rpcs_by_message_type"] = [
            {"message_type": name, "type_id": 1, "count": count} for name, count in asked.items()
        ]
        return gateway(version, answer(200, body)).diag().doings

    assert doings() == (), "this Slurm does not tell"
    some = doings(REQUEST_SUBMIT_BATCH_JOB=3, REQUEST_JOB_INFO=5)
    assert some
    assert some == doings(REQUEST_SUBMIT_BATCH_JOB=3, REQUEST_JOB_INFO=6, REQUEST_NODE_INFO_SINGLE=1)
    assert some != doings(REQUEST_SUBMIT_BATCH_JOB=4, REQUEST_JOB_INFO=5)
    assert some != doings(REQUEST_SUBMIT_BATCH_JOB=3, REQUEST_JOB_INFO=5, REQUEST_OF_TOMORROW=1)


@pytest.mark.parametrize("version", VERSIONS)
def test_no_recorded_answer_crashes_a_decoder(version: str) -> None:
    for path in sorted((FOLDER / version).glob("*.json")):
        asked = gateway(version, recorded(version, path.stem))
        for look in (asked.jobs, asked.nodes, asked.partitions, asked.diag, asked.ping):
            try:
                assert look() is not None
            except OutsideError as error:
                assert error.message
