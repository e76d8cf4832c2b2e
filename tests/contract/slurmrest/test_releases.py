"""Every API version of every release before its real daemons: short looks, submits, ends and changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from clusters.clients.slurmrest import errors, versions
from clusters.clients.slurmrest.changes import CannotAsk, JobChanges
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.listings import JobState
from clusters.clients.slurmrest.models import UNLIMITED, GpuRequest, JobId, JobRecord, SubmitRequest
from tests.cases import case
from tests.contract.slurmrest import books
from tests.contract.slurmrest.asking import SLEEP, held, one
from tests.contract.slurmrest.lab import GPUS, NODES, SlurmLab, slurm_lab, until

pytestmark = pytest.mark.slow


def shown(lab: SlurmLab, job_id: int, field: str) -> str:
    """What scontrol says."""
    text = lab.command("scontrol", "--oneliner", "show", "job", str(job_id))
    return text.partition(f" {field}=")[2].split(" ")[0].strip()


def test_looks_say_the_same_in_every_version(
    alpha: SlurmLab, speakers: list[tuple[str, RestGateway]]
) -> None:
    job = held(alpha, speakers[0][1], name="the-one", gpus=GpuRequest(count=2), comment="c")
    for version, gateway in speakers:
        assert gateway.ping().responding, version
        assert abs(gateway.diag().req_time - time.time()) < 5
        assert [node.gpus.total for node in gateway.nodes()] == [GPUS] * NODES
        assert [part.name for part in gateway.partitions()] == ["debug", "gpu"]
        assert (gateway.reservations(), gateway.licenses()) == ((), ())
        found = one(gateway, job)
        assert (found.name, found.state, found.hold, found.comment) == ("the-one", "PENDING", True, "c")
        assert (found.gpus.total, found.user_name) == (2, alpha.members[0].name)
        listed = gateway.jobs()
        assert listed is not None
        assert job in {record.job_id for record in listed.jobs}
        assert gateway.job(99_999_999) == ()
        if gateway.lists_states:
            assert JobState(number=job, state="PENDING") in gateway.states()


def test_unchanged_is_told_in_every_version(alpha: SlurmLab, speakers: list[tuple[str, RestGateway]]) -> None:
    since = speakers[0][1].diag().req_time
    until(lambda: speakers[0][1].diag().req_time > since + 1, what="a later second")
    for version, gateway in speakers:
        assert gateway.jobs(unchanged_since=gateway.diag().req_time) is None, version
    held(alpha, speakers[0][1])
    for version, gateway in speakers:
        assert gateway.jobs(unchanged_since=since) is not None, version


@case("U12")
def test_ends_of_jobs_and_tasks(alpha: SlurmLab, speakers: list[tuple[str, RestGateway]]) -> None:
    for version, gateway in speakers:
        single, array = held(alpha, gateway), held(alpha, gateway, array="0-3")
        gateway.cancel(str(single))
        assert one(gateway, single).state == "CANCELLED", version
        gateway.cancel(str(single))  # already over: fine
        gateway.cancel(f"{array}_2")
        assert alpha.command("squeue", "-h", "-o", "%F_%K", "-j", str(array)).strip() == f"{array}_0-1,3"
        with pytest.raises(errors.UnknownJob):
            gateway.cancel("99999999")


def test_a_stranger_may_look_and_nothing_else_and_slurm_goes_on(
    alpha: SlurmLab, speakers: list[tuple[str, RestGateway]]
) -> None:
    for version, gateway in speakers:
        job = held(alpha, gateway)
        stranger = alpha.gateway(1, version=version)
        assert one(stranger, job).user_name == alpha.members[0].name
        for ask in (
            lambda: stranger.cancel(str(job)),  # noqa: B023
            lambda: stranger.cancel(str(job), signal="USR1"),  # noqa: B023
            lambda: stranger.update(str(job), JobChanges(comment="mine")),  # noqa: B023
        ):
            with pytest.raises(errors.NotPermitted):
                ask()
        gateway.update(str(job), JobChanges(comment="still mine"))
        assert one(gateway, job).comment == "still mine"


CHANGES: list[tuple[JobChanges, str, str]] = [
    (JobChanges(comment="changed [fh:abcdefghijkl]"), "Comment", "changed"),
    (JobChanges(name="renamed"), "JobName", "renamed"),
    (JobChanges(partition="gpu"), "Partition", "gpu"),
    (JobChanges(time_limit_minutes=4), "TimeLimit", "00:04:00"),
    (JobChanges(nice=50), "Nice", "50"),
    (JobChanges(begin=2_000_000_000), "StartTime", "2033-05-18T03:33:20"),
    (JobChanges(memory_mib=222), "MinMemoryNode", "222M"),
    (JobChanges(memory_per_cpu_mib=33), "MinMemoryCPU", "33M"),
    (JobChanges(nodes=2), "NumNodes", "2-2"),
    (JobChanges(licenses="matlab:1"), "Licenses", "matlab:1"),
    (JobChanges(reservation="maint"), "Reservation", "maint"),
    (JobChanges(requeue=False), "Requeue", "0"),
    (JobChanges(requeue=True), "Requeue", "1"),
    (JobChanges(dependency="after:{other}"), "Dependency", "after:{other}(unfulfilled)"),
    (JobChanges(dependency=""), "Dependency", "(null)"),
]


@pytest.fixture(scope="module")
def rich(request: pytest.FixtureRequest, alpha: SlurmLab) -> Iterator[SlurmLab]:
    """A cluster with licenses and a reservation."""
    with slurm_lab(members=1, release=alpha.release, more="Licenses=matlab:4\n") as lab:
        facts = ["ReservationName=maint", "StartTime=now+60minutes", "Duration=120", "Flags=IGNORE_JOBS"]
        nodes, users = f"Nodes={lab.name}-n1", f"Users={lab.members[0].name}"
        lab.command("scontrol", "create", "reservation", *facts, nodes, users)
        yield lab


def change(gateway: RestGateway, job: JobId, changes: JobChanges) -> None:
    """Slurm may put a change off while it does something else: nothing was changed then."""

    def done() -> bool:
        try:
            return gateway.update(str(job), changes).is_certain
        except errors.TryAgain:
            return False

    until(done, what="the change is made")


def test_what_is_changed_is_changed_and_what_is_not_is_said_before(rich: SlurmLab) -> None:
    first = rich.gateway()
    other = str(held(rich, first))
    for version in rich.versions:
        gateway = rich.gateway(version=version)
        job = held(rich, gateway, name="orig", comment="before")
        for changes, field, expected in CHANGES:
            if changes.dependency:
                changes = JobChanges(dependency=f"after:{other}")  # noqa: PLW2901
            if version == "v0.0.38" and changes.name:
                with pytest.raises(CannotAsk):
                    gateway.update(str(job), changes)
                continue
            change(gateway, job, changes)
            found = shown(rich, job, field)
            assert found == expected.format(other=other), f"{version}: {changes}"
        change(gateway, job, JobChanges(hold=False))
        assert not one(gateway, job).hold
        change(gateway, job, JobChanges(hold=True))
        assert (one(gateway, job).hold, one(gateway, job).reason) == (True, "JobHeldUser")


def test_reservations_and_licenses(rich: SlurmLab) -> None:
    for version in rich.versions:
        gateway = rich.gateway(version=version)
        (reservation,) = gateway.reservations()
        assert (reservation.name, reservation.nodes) == ("maint", f"{rich.name}-n1")
        assert (reservation.users, reservation.core_count > 0) == (rich.members[0].name, True)
        assert reservation.start_time is not None and reservation.start_time > time.time()
        (license_,) = gateway.licenses()
        assert (license_.name, license_.total, license_.free) == ("matlab", 4, 4)


def test_refused_changes(alpha: SlurmLab, speakers: list[tuple[str, RestGateway]]) -> None:
    for version, gateway in speakers:
        job = held(alpha, gateway)
        for changes in (
            JobChanges(partition="nope"),
            JobChanges(dependency="afterok:foo"),
            JobChanges(nice=-50),
            JobChanges(time_limit_minutes=UNLIMITED),
        ):
            with pytest.raises(errors.SlurmRefused):
                gateway.update(str(job), changes)
        assert (one(gateway, job).partition, one(gateway, job).time_limit) == ("debug", 10), version
        with pytest.raises(errors.UnknownJob):
            gateway.update("99999999", JobChanges(comment="x"))
        gateway.cancel(str(job))
        with pytest.raises(errors.SlurmRefused) as caught:
            gateway.update(str(job), JobChanges(comment="late"))
        assert caught.value.code == 2084


@case("U12")
def test_arrays_their_tasks_and_parts_of_het_jobs(
    alpha: SlurmLab, speakers: list[tuple[str, RestGateway]]
) -> None:
    script = "#!/bin/sh\nexec sleep 300\n"
    for version, gateway in speakers:
        array = held(alpha, gateway, array="0-3%1")
        changed = gateway.update(str(array), JobChanges(array_throttle=3, time_limit_minutes=3))
        assert changed.is_certain == (version != "v0.0.38")
        assert (one(gateway, array).array_task_string, one(gateway, array).time_limit) == ("0-3%3", 3)
        if version == "v0.0.38":
            gateway.update(f"{array}_2", JobChanges(time_limit_minutes=2))
            assert {job.array_task_id: job.time_limit for job in gateway.job(array)} == {None: 3, 2: 2}
        else:
            with pytest.raises(CannotAsk):
                gateway.update(f"{array}_2", JobChanges(time_limit_minutes=2))
        command = ["sbatch", "--parsable", "--hold", "-n1", ":", "-n1"]
        leader = alpha.run(command, member=0, text=script).stdout.strip()
        gateway.update(leader, JobChanges(comment="all?"))
        first, second = sorted(gateway.job(int(leader)), key=lambda job: job.het_job_offset or 0)
        assert (first.comment, second.comment) == ("all?", "all?" if version == "v0.0.38" else "")
        gateway.update(str(second.job_id), JobChanges(comment="second"))
        assert one_of(gateway, int(leader), 1).comment == "second"
        gateway.cancel(leader)
        assert {job.state for job in gateway.job(int(leader))} == {"CANCELLED"}


def one_of(gateway: RestGateway, leader: int, offset: int) -> JobRecord:
    """A part of a het job."""
    (found,) = (job for job in gateway.job(leader) if job.het_job_offset == offset)
    return found


@case("U12")
def test_states_of_tasks_that_run_and_wait(alpha: SlurmLab, speakers: list[tuple[str, RestGateway]]) -> None:
    newest = speakers[0][1]
    array = held(alpha, newest, array="0-3%1", hold=False)
    until(lambda: any(job.state == "RUNNING" for job in newest.job(array)), what="a running task")
    (running,) = (job for job in newest.job(array) if job.state == "RUNNING")
    for version, gateway in speakers:
        if not gateway.lists_states:
            continue
        found = {(line.number, line.task): line.state for line in gateway.states()}
        number = array if version == "v0.0.40" else running.job_id
        assert found[(number, running.array_task_id)] == "RUNNING", version
        assert [found[(array, task)] for task in (1, 2, 3)] == ["PENDING"] * 3


def test_a_user_without_a_unix_account(alpha: SlurmLab) -> None:
    nobody = "fhnobody0"
    for version in alpha.versions:
        gateway = RestGateway(alpha.url, version, nobody, lambda: alpha.token(nobody))
        request = SubmitRequest(
            script=SLEEP, environment={"PATH": "/bin"}, working_directory="/tmp", hold=True, name="nobodys"
        )
        try:
            sent = gateway.submit(request)
        except errors.SlurmRefused as error:
            assert error.code == 6010  # 26.05 says so itself
        else:
            assert one(alpha.gateway(), sent.job_id).user_name is None, version
            alpha.command("scancel", str(sent.job_id))


@case("U18")
@pytest.mark.parametrize("alpha", ["trixie", "testing"], indirect=True)
def test_an_upgrade_that_takes_the_spoken_version_away(alpha: SlurmLab) -> None:
    newest, *_, oldest = alpha.versions
    account, url = alpha.members[0].name, f"http://127.0.0.1:{alpha.port + 5}"
    options = ["-f", str(alpha.conf), "-a", "rest_auth/jwt", "-s", "slurmctld"]

    def found_by_a_slurmrestd_with(version: str) -> versions.DiscoveredVersion:
        alpha.spawn("slurmrestd", *options, "-d", version, url[7:], user="nobody", SLURM_JWT="daemon")
        until(lambda: books.listens(alpha.port + 5), what="slurmrestd")
        return versions.discover(url, account, lambda: alpha.token(account))

    def end_it() -> None:
        _, process = alpha.processes.popitem()
        process.terminate()
        process.wait(timeout=30)

    first = found_by_a_slurmrestd_with(oldest)
    assert (first.api, first.offered) == (oldest, (oldest,))
    kept = RestGateway(url, first.api, account, lambda: alpha.token(account))
    assert kept.ping().responding
    end_it()
    second = found_by_a_slurmrestd_with(newest)
    with pytest.raises(errors.VersionGone):
        kept.jobs()
    assert (second.api, second.release) == (newest, first.release)
    assert RestGateway(url, second.api, account, lambda: alpha.token(account)).jobs() is not None
    end_it()


@pytest.mark.parametrize("release", ["bookworm", "testing"])
def test_with_accounting_qos_and_account_change_and_strangers_are_refused(
    release: str, strict_release: Callable[[str], SlurmLab]
) -> None:
    lab = strict_release(release)
    member = lab.members[0].name
    add = ["sacctmgr", "--immediate", "--quiet", "add"]
    lab.command(*add, "qos", "high")
    lab.command(*add, "account", "second", f"Cluster={lab.name}")
    lab.command(*add, "user", member, "Account=second", f"Cluster={lab.name}")
    lab.command("sacctmgr", "--immediate", "--quiet", "modify", "user", member, "set", "qos+=high")
    for version in lab.versions:
        gateway = lab.gateway(version=version)
        job = held(lab, gateway, gpus=GpuRequest(count=2))
        assert "gres/gpu=2" in one(gateway, job).tres_requested
        gateway.update(str(job), JobChanges(qos="high"))
        gateway.update(str(job), JobChanges(account="second"))
        assert (one(gateway, job).qos, one(gateway, job).account) == ("high", "second"), version
        with pytest.raises(errors.NotPermitted):
            lab.gateway(1, version=version).cancel(str(job))
        gateway.cancel(str(job))


def test_a_cluster_ends_without_a_trace() -> None:
    with slurm_lab(members=1, release="trixie") as lab:
        pids = [process.pid for process in lab.processes.values()]
        folder, root = lab.root, str(lab.place.root)
        assert folder.exists()
    assert not folder.exists()
    with open("/proc/self/mounts", encoding="utf-8") as mounts:  # noqa: PTH123
        assert root not in mounts.read()
    assert len(pids) == 3 + NODES
