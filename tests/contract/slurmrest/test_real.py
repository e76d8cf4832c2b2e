"""The gateway before real slurmrestds of three releases, each in the newest version that it speaks."""

from __future__ import annotations

import datetime as dt
import re
import time
from pathlib import Path

import pytest
import time_machine

from clusters.clients.slurmrest import errors, tokens, versions
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import UNLIMITED, GpuRequest, JobRecord, SubmitRequest
from jobs.parsing.array import parse_array
from jobs.parsing.paths import output_paths
from jobs.parsing.refusal import Refusal
from portal.lib.http import NoAnswer
from portal.lib.types import JSONDict
from tests.cases import case
from tests.contract.slurmrest.lab import GPUS, MAX_ARRAY_SIZE, SlurmLab, until

pytestmark = pytest.mark.slow
SLEEP = "#!/bin/sh\nexec sleep 300\n"


def request(lab: SlurmLab, script: str = SLEEP, **facts: object) -> SubmitRequest:
    """A job in the member's home."""
    given: JSONDict = {
        "environment": {"PATH": "/usr/bin:/bin"},
        "working_directory": str(lab.home()),
        **facts,
    }
    return SubmitRequest(script=script, **given)


def one(gateway: SlurmGateway, job_id: int) -> JobRecord:
    (job,) = gateway.job(job_id)
    return job


def wait(gateway: SlurmGateway, job_id: int, *states: str) -> JobRecord:
    until(lambda: {j.state for j in gateway.job(job_id)} <= set(states), what=f"{job_id} {states}")
    until(lambda: not one(gateway, job_id).flags, what="no flags")
    return one(gateway, job_id)


def test_ping_diag_nodes_partitions(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    assert gateway.ping().responding
    assert re.match(r"\d\d\.\d\d\.", gateway.ping().release)
    assert abs(gateway.diag().req_time - time.time()) < 5
    nodes = gateway.nodes()
    assert [node.gpus.total for node in nodes] == [GPUS, GPUS]
    assert all(node.gpus.by_model == (("a100", GPUS),) for node in nodes)
    debug, gpu = gateway.partitions()
    assert (debug.name, debug.max_time) == ("debug", 1440)
    tells = alpha.versions[0] in {"v0.0.38", "v0.0.45"}  # the others do not say which is the default
    assert (debug.is_default, gpu.is_default) == (tells, False)
    assert (gpu.max_time, gpu.default_time, gpu.max_nodes) == (720, 10, UNLIMITED)


@case("U18")
def test_discovery(alpha: SlurmLab) -> None:
    account = alpha.members[0].name
    found = versions.discover(alpha.url, account, lambda: tokens.mint(account, alpha.key))
    assert found.api == alpha.versions[0]
    assert set(found.offered) >= set(alpha.versions)
    assert ("v0.0.36" in found.offered) == (alpha.release == "bookworm")  # offered, and not chosen
    assert found.release == alpha.gateway().ping().release


def test_a_gpu_job_runs_as_its_account_and_its_end_is_known(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    script = "#!/bin/sh\nid -un\necho $CUDA_VISIBLE_DEVICES\nexit 3\n"
    gpus = GpuRequest(count=2, model="a100")
    sent = gateway.submit(
        request(alpha, script, name="gpu", gpus=gpus, partition="gpu", time_limit_minutes=5)
    )
    job = wait(gateway, sent.job_id, "FAILED")
    assert sent.warnings == ()
    assert (job.exit_code and job.exit_code.status, job.reason) == (3, "NonZeroExitCode")
    assert (job.user_name, job.user_id) == (alpha.members[0].name, alpha.members[0].uid)
    assert (job.gpus.total, job.time_limit, job.partition) == (2, 5, "gpu")
    path, error = output_paths(job)
    user, devices = Path(path).read_text().split()
    assert (user, error) == (alpha.members[0].name, "")
    assert len(devices.split(",")) == 2


@case("U03")
@pytest.mark.parametrize(
    "name",
    ["数据-训练 🚀", 'it\'s "v2"', "a|b", "site:run/7", "<img src=x onerror=alert(1)>", "$(id)", "n" * 300],
)
def test_names_come_back_unchanged(alpha: SlurmLab, name: str) -> None:
    gateway = alpha.gateway()
    comment = f"{name} [fh:abcdefghijkl]"
    sent = gateway.submit(request(alpha, name=name, comment=comment, hold=True))
    job = one(gateway, sent.job_id)
    assert (job.name, job.comment) == (name, comment)
    listed = gateway.jobs()
    assert listed is not None
    assert name in {found.name for found in listed.jobs}
    gateway.cancel(str(sent.job_id))


@case("U07")
def test_the_environment_arrives_whole_and_nothing_else_does(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    values = {"PATH": "/usr/bin:/bin", "A": "b=c", "GREET": "héllo", "LINES2": "one\ntwo"}
    script = '#!/bin/sh\nprintf "%s|%s|%s|" "$A" "$GREET" "$LINES2"\nenv | grep -c "SLURM_JWT\\|FREEHOLD"\n'
    sent = gateway.submit(request(alpha, script, environment=values))
    job = wait(gateway, sent.job_id, "COMPLETED", "FAILED")
    assert Path(output_paths(job)[0]).read_text() == "b=c|héllo|one\ntwo|0\n"


@case("U06")
def test_memory_zero_is_all_of_the_node(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    for given, expected in ((0, 0), (512, 512), (None, None)):
        sent = gateway.submit(request(alpha, memory_mib=given, hold=True))
        job = one(gateway, sent.job_id)
        assert job.memory_per_node == expected
        assert ("mem=16000M" in job.tres_requested) == (given == 0)
        gateway.cancel(str(sent.job_id))


@case("U04")
def test_an_array_has_the_tasks_that_were_counted_and_is_refused_where_it_was(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    for text in ("1-10%2", "0-15:4", "1,3,5-7", "1-1000"):
        job = gateway.submit(request(alpha, array=text, hold=True)).job_id
        tasks = alpha.command("squeue", "--noheader", "--array", "--format=%K", f"--jobs={job}").split()
        counted = parse_array(text, max_size=MAX_ARRAY_SIZE)
        assert counted is not None
        assert len(tasks) == counted.count, text
        gateway.cancel(str(job))
    for text in ("5-1", "1--3", "1-1001"):
        with pytest.raises(Refusal):
            parse_array(text, max_size=MAX_ARRAY_SIZE)
        with pytest.raises(errors.SlurmRefused):
            gateway.submit(request(alpha, array=text, hold=True))


@case("U08")
def test_blank_fields_take_slurms_defaults(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    sent = gateway.submit(request(alpha, hold=True))
    job = one(gateway, sent.job_id)
    assert (job.partition, job.time_limit, job.memory_per_cpu, job.node_count) == ("debug", 10, 100, 1)
    assert (job.gpus.total, job.dependency, job.account) == (0, "", "")
    gateway.cancel(str(sent.job_id))


def test_a_held_job_waits_and_says_so(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    sent = gateway.submit(request(alpha, hold=True))
    assert "held" in sent.warnings[0]
    job = one(gateway, sent.job_id)
    assert (job.state, job.hold, job.reason, job.exit_code) == ("PENDING", True, "JobHeldUser", None)
    gateway.cancel(str(sent.job_id))
    job = one(gateway, sent.job_id)
    assert (job.state, job.is_finished) == ("CANCELLED", True)


def test_over_the_partitions_limit_is_accepted_and_waits(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    sent = gateway.submit(request(alpha, partition="gpu", time_limit_minutes=UNLIMITED))
    assert bool(sent.warnings) == (alpha.release == "bookworm")
    until(lambda: one(gateway, sent.job_id).reason, what="a reason")
    job = one(gateway, sent.job_id)
    assert (job.state, job.time_limit) == ("PENDING", UNLIMITED)
    assert job.reason in {"PartitionTimeLimit", "PartitionConfig"}
    gateway.cancel(str(sent.job_id))


@pytest.mark.parametrize(
    ("facts", "code", "field"),
    [
        ({"partition": "nope"}, 2000, "partition"),
        ({"dependency": "foo"}, 2038, "dependency"),
        ({"array": "5-1"}, 2081, "array"),
        ({"reservation": "zz"}, 2053, "reservation"),
        ({"gpus": GpuRequest(count=GPUS + 1)}, 2014, ""),
        ({"memory_mib": 99_999_999}, 2014, ""),
    ],
)
def test_refusals_name_code_and_field(alpha: SlurmLab, facts: JSONDict, code: int, field: str) -> None:
    gateway = alpha.gateway()
    with pytest.raises(errors.SlurmRefused) as caught:
        gateway.submit(request(alpha, **facts))
    assert (caught.value.code, caught.value.field) == (code, field)
    assert caught.value.message


@case("U12")
def test_one_task_of_an_array_is_cancelled_alone(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    sent = gateway.submit(request(alpha, array="1-6%2"))
    until(lambda: sum(j.state == "RUNNING" for j in gateway.job(sent.job_id)) == 2, what="two tasks")
    task = next(job for job in gateway.job(sent.job_id) if job.state == "RUNNING")
    rest = next(job for job in gateway.job(sent.job_id) if job.array_task_id is None)
    assert (rest.array_task_string, rest.state) == ("3-6%2", "PENDING")
    gateway.cancel(task.shown_id)

    def states() -> dict[str, str]:
        return {job.shown_id: job.state for job in gateway.job(sent.job_id)}

    until(lambda: states()[task.shown_id] == "CANCELLED", what="cancelled")
    assert [name for name, state in states().items() if state == "CANCELLED"] == [task.shown_id]
    gateway.cancel(str(sent.job_id))


def test_cancel_of_running_finished_and_unknown(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    sent = gateway.submit(request(alpha))
    wait(gateway, sent.job_id, "RUNNING")
    gateway.cancel(str(sent.job_id))
    job = wait(gateway, sent.job_id, "CANCELLED")
    assert job.is_finished
    gateway.cancel(str(sent.job_id))  # already over: fine
    with pytest.raises(errors.UnknownJob):
        gateway.cancel("99999999")
    assert gateway.job(99999999) == ()


def test_a_signal_reaches_the_job(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    script = "#!/bin/bash\ntrap 'exit 7' USR1\necho ready\nwhile :; do sleep 0.1; done\n"
    sent = gateway.submit(request(alpha, script))
    out = Path(output_paths(wait(gateway, sent.job_id, "RUNNING"))[0])
    until(lambda: out.exists() and "ready" in out.read_text(), what="trap")
    gateway.cancel(str(sent.job_id), signal="USR1")
    job = wait(gateway, sent.job_id, "FAILED", "COMPLETED", "RUNNING")
    until(lambda: one(gateway, sent.job_id).is_finished, what="end")
    job = one(gateway, sent.job_id)
    assert job.exit_code is not None
    assert job.exit_code.status == 7


def test_anothers_job_is_seen_but_not_ended(alpha: SlurmLab) -> None:
    sent = alpha.gateway(0).submit(request(alpha, hold=True))
    stranger = alpha.gateway(1)
    assert one(stranger, sent.job_id).user_name == alpha.members[0].name
    with pytest.raises(errors.NotPermitted):
        stranger.cancel(str(sent.job_id))
    alpha.gateway(0).cancel(str(sent.job_id))


def test_questions_are_no_doings(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()

    def same() -> bool:
        before = gateway.diag().doings
        assert gateway.jobs() is not None
        assert gateway.nodes()
        assert gateway.job(1) is not None
        return before == gateway.diag().doings

    until(same, what="a moment in which Slurm does nothing else")


def test_unchanged_is_told_by_the_controllers_own_clock(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    sent = gateway.submit(request(alpha, hold=True))
    until(lambda: gateway.jobs(unchanged_since=gateway.diag().req_time) is None, what="unchanged")
    since, doings = gateway.diag().req_time, gateway.diag().doings
    gateway.cancel(str(sent.job_id))
    until(lambda: gateway.diag().doings != doings, what="that it did something is counted")

    def changed() -> bool:
        return gateway.jobs(unchanged_since=since - 1) is not None

    assert changed()


def test_a_dead_token(alpha: SlurmLab) -> None:
    account = alpha.members[0].name
    old = dt.datetime.now(tz=dt.UTC) - dt.timedelta(minutes=10)
    with time_machine.travel(old, tick=False):
        dead = tokens.mint(account, alpha.key)
    living = alpha.gateway()
    assert living.submit(request(alpha, hold=True)).job_id
    gateway = RestGateway(alpha.url, alpha.versions[0], account, lambda: dead)
    before = living.jobs()
    for call in (gateway.ping, gateway.diag, gateway.jobs, gateway.nodes, gateway.partitions):
        with pytest.raises(errors.TokenRefused):
            call()
    with pytest.raises(errors.TokenRefused):
        gateway.job(1)
    with pytest.raises(errors.TokenRefused):
        gateway.submit(request(alpha))
    with pytest.raises(errors.TokenRefused):
        gateway.cancel("1")
    after = living.jobs()
    assert before is not None
    assert after is not None
    assert len(after.jobs) == len(before.jobs)


def test_a_foreign_token_is_refused_though_its_own_cluster_takes_it(alpha: SlurmLab, beta: SlurmLab) -> None:
    assert beta.gateway().submit(request(beta, hold=True)).job_id
    assert alpha.gateway().submit(request(alpha, hold=True)).job_id
    with pytest.raises(errors.TokenRefused):
        alpha.gateway(key=beta.key).diag()
    with pytest.raises(errors.TokenRefused):
        alpha.gateway(key=beta.key).submit(request(alpha, hold=True))
    with pytest.raises(errors.TokenRefused):
        beta.gateway(key=alpha.key).jobs()


@pytest.mark.parametrize("alpha", ["bookworm", "testing"], indirect=True)  # six seconds each
def test_a_controller_that_hangs_is_not_a_dead_token(alpha: SlurmLab) -> None:
    alpha_gateway = alpha.gateway()
    assert alpha_gateway.diag().req_time
    with alpha.without_controller():
        with pytest.raises(errors.NotReachable):
            alpha_gateway.diag()
        with pytest.raises(errors.NotReachable) as caught:
            alpha.gateway(timeout=0.5).diag()
        assert isinstance(caught.value.__cause__, NoAnswer)
    until(lambda: alpha_gateway.ping().responding, what="controller back")


@case("U10")
def test_a_submit_to_a_controller_that_hangs_is_unclear_and_its_mark_is_found_later(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    mark = f"[fh:{time.time_ns():x}]"
    with alpha.without_controller(), pytest.raises(errors.Unclear):
        alpha.gateway(timeout=1.0).submit(request(alpha, comment=mark, hold=True))

    def found() -> list[JobRecord]:
        listed = gateway.jobs()
        return [job for job in listed.jobs if job.comment == mark] if listed else []

    until(found, what="the job that was taken after all")
    assert len(found()) == 1
    gateway.cancel(str(found()[0].job_id))


@case("U01")
def test_windows_line_ends_never_reach_slurm(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    typed = "#!/bin/sh\r\necho fine\r\n"
    with pytest.raises(ValueError):
        gateway.submit(request(alpha, typed))
    sent = gateway.submit(request(alpha, typed.replace("\r\n", "\n")))
    job = wait(gateway, sent.job_id, "COMPLETED", "FAILED")
    assert job.state == "COMPLETED"


# not %N: several slurmd on one host all write the host's own name
PATTERNS: tuple[tuple[str | None, str | None], ...] = (
    ("j-%j.out", None),
    ("A-%A-a-%a.out", "3"),
    ("x-%x-u-%u.out", None),
    ("J-%J.out", None),
    ("%%-percent.out", None),
    ("pad-%6j.out", None),
    ("s-%s-t-%t-n-%n.out", None),
    ("{home}/plain\\%j.out", None),  # a relative path with a backslash is lost on slurmd 22.05
    (None, None),
    (None, "2"),
)


def test_paths_are_expanded_as_slurmd_does(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    sent = {}
    for pattern, array in PATTERNS:
        if pattern and "\\" in pattern and "v0.0.39" < alpha.versions[0] < "v0.0.43":
            continue  # these give back a path that is neither the pattern nor the file's
        wanted = pattern.replace("{home}", str(alpha.home())) if pattern else None
        given = request(alpha, "#!/bin/sh\npwd\n", name="the-name", stdout=wanted, array=array)
        sent[gateway.submit(given).job_id] = pattern
    for number, pattern in sent.items():
        path = Path(output_paths(wait(gateway, number, "COMPLETED", "FAILED"))[0])
        assert path.parent == alpha.home()
        names = sorted(found.name for found in alpha.home().iterdir())
        assert path.name in names, f"{pattern}: {path.name} is none of {names}"
        assert path.read_text().strip() == str(alpha.home())
