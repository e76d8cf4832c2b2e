"""What real daemons do when they die, change, are imitated, or are left by their jobs."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from clusters.clients.slurmrest.models import JobId, SubmitRequest
from clusters.drivers.local import daemons, folder, teardown, unix
from clusters.drivers.local.daemons import Running
from clusters.provisioning.steps import StepContext
from portal.lib import processes
from portal.lib.errors import PermanentError, TemporaryError
from tests.cases import case
from tests.clusters.drivers.lab import Lab, until
from tests.contract.driver_contract import drive_away, settle

pytestmark = [pytest.mark.slow]
ESCAPE = "#!/bin/bash\n(setsid sleep 1001 &)\nsleep 1002\n"


def running(lab: Lab, ctx: StepContext) -> dict[str, Running]:
    """The cluster's daemons by role."""
    return daemons.of_cluster(lab.folder(ctx) / "etc" / "slurm.conf", range(2**31))


def start_job(lab: Lab, ctx: StepContext, script: str, *, account: str = "") -> JobId:
    """A member's job, seen running."""
    account = account or ctx.spec.accounts[-1].name
    gateway = lab.gateway(ctx, account)
    job = gateway.submit(
        SubmitRequest(
            script=script,
            environment={"PATH": "/usr/bin:/bin"},
            working_directory=str(lab.folder(ctx) / "home" / account),
        )
    )
    until(lambda: gateway.job(job.job_id)[0].state == "RUNNING", what="the job runs")
    return job.job_id


def of_uid(uid: int) -> list[str]:
    """Command lines of a user's processes."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.uids().real == uid and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except psutil.NoSuchProcess:
            continue
    return sorted(found)


def test_a_killed_slurmctld_comes_back_and_the_job_goes_on(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    step = lab.site["slurm"]
    job = start_job(lab, ctx, "#!/bin/sh\nsleep 1000\n")
    # slurmctld writes its jobs down every few seconds; what it never wrote no restart can know
    lab.slurm(ctx, "scontrol", "update", f"jobid={job}", "comment=written-down")
    saved = lab.folder(ctx) / "state" / "job_state"
    until(lambda: saved.exists() and b"written-down" in saved.read_bytes(), what="the job is written down")
    before = running(lab, ctx)
    assert processes.send_signal(before["slurmctld"].record, signal.SIGKILL)
    assert not daemons.wait_gone([before["slurmctld"].record], seconds=20)

    seen = step.observe(ctx)
    assert (seen.exists, seen.ready, seen.reason) == (True, False, "DaemonsDown")
    assert "slurmctld" in seen.message
    settle(step, ctx)

    after = running(lab, ctx)
    assert after["slurmctld"].record != before["slurmctld"].record
    assert {role: one.record for role, one in after.items() if role != "slurmctld"} == {
        role: one.record for role, one in before.items() if role != "slurmctld"
    }
    gateway = lab.gateway(ctx, ctx.spec.accounts[-1].name)
    until(lambda: gateway.job(job)[0].state == "RUNNING", what="the job still runs")
    assert "sleep 1000" in of_uid(ctx.spec.accounts[-1].uid)


@case("U38")
def test_daemons_whose_record_was_lost_are_not_started_again(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    before = {role: one.record for role, one in running(lab, ctx).items()}
    (lab.folder(ctx) / "local" / "daemons.json").unlink()
    lab.site["slurm"].apply(ctx)
    assert {role: one.record for role, one in running(lab, ctx).items()} == before
    assert (lab.folder(ctx) / "local" / "daemons.json").exists()


def test_a_second_worker_is_sent_away(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    with folder.alone(folder.of(lab.settings.clusters, ctx.spec)), pytest.raises(TemporaryError) as refused:
        lab.site["slurm"].apply(ctx)
    assert refused.value.reason == "Busy"
    lab.site["slurm"].apply(ctx)


def test_a_job_that_poses_as_a_daemon_is_not_believed(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    conf = lab.folder(ctx) / "etc" / "slurm.conf"
    posing = (
        f"#!/bin/sh\nexport SLURM_CONF={conf} FREEHOLD_DAEMON=slurmctld SLURM_JWT=daemon\n"
        f"setsid /usr/sbin/slurmrestd -f {conf} -a rest_auth/jwt -s v0.0.38 unix:$PWD/socket &\nsleep 1000\n"
    )
    start_job(lab, ctx, posing)
    member = ctx.spec.accounts[-1].uid
    until(lambda: any("slurmrestd" in line for line in of_uid(member)), what="the impostor runs")
    real = running(lab, ctx)["slurmctld"]
    assert processes.send_signal(real.record, signal.SIGKILL)
    assert not daemons.wait_gone([real.record], seconds=20)
    assert lab.site["slurm"].observe(ctx).reason == "DaemonsDown"
    settle(lab.site["slurm"], ctx)


def test_remove_ends_what_escaped_from_its_job(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    start_job(lab, ctx, ESCAPE)
    member = ctx.spec.accounts[-1]
    until(lambda: {"sleep 1001", "sleep 1002"} <= set(of_uid(member.uid)), what="both run")
    lab.take_down(ctx)
    assert of_uid(member.uid) == []
    assert of_uid(ctx.spec.accounts[0].uid) == []
    assert unix.user(member.name) is None
    assert unix.group_id(f"fh{ctx.spec.name[2:]}") is None
    assert list(lab.settings.clusters.iterdir()) == []
    assert not [
        line for line in Path("/proc/mounts").read_text().splitlines() if str(lab.settings.data) in line
    ]


def test_stop_all_ends_processes_and_keeps_data(lab: Lab) -> None:
    first, second = lab.bring_up(lab.cluster()), lab.bring_up(lab.cluster())
    start_job(lab, first, ESCAPE)
    done = subprocess.run(
        [".venv/bin/python", "-m", "clusters.drivers.local.teardown", str(lab.settings.data)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith("Ended ")
    for ctx in (first, second):
        assert running(lab, ctx) == {}
        assert of_uid(ctx.spec.accounts[-1].uid) == []
        assert unix.user(ctx.spec.accounts[-1].name) is not None
        assert lab.site["slurm"].observe(ctx).reason == "DaemonsDown"
    settle(lab.site["slurm"], first)


def test_remove_all_leaves_nothing_of_ours_and_all_that_is_not(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    theirs = lab.settings.clusters / "theirs"
    theirs.mkdir()
    assert teardown.remove_all(lab.settings.data) == 1
    assert [path.name for path in lab.settings.clusters.iterdir()] == ["theirs"]
    assert unix.users_with(unix.mark_of(ctx.spec)) == []
    assert unix.group_id(f"fh{ctx.spec.name[2:]}") is None
    assert not (lab.settings.data / "site").exists()


def test_a_member_who_left_is_closed_and_the_job_may_end(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster(members=2))
    member = ctx.spec.accounts[-1]
    start_job(lab, ctx, "#!/bin/sh\nsleep 1003\n", account=member.name)
    left = dataclasses.replace(member, active=False)
    spec = dataclasses.replace(ctx.spec, accounts=(*ctx.spec.accounts[:-1], left))
    gone = dataclasses.replace(ctx, spec=spec)
    assert lab.site["identity"].observe(gone).in_sync is False
    settle(lab.site["identity"], gone)
    entry = unix.user(member.name)
    assert entry is not None
    assert entry.pw_shell == unix.NO_SHELL
    until(lambda: "sleep 1003" in of_uid(member.uid), what="the job goes on")
    settle(lab.site["identity"], ctx)
    back = unix.user(member.name)
    assert back is not None
    assert back.pw_shell == unix.SHELL


def test_ids_of_others_are_refused(lab: Lab) -> None:
    ctx = lab.prepare(lab.cluster(), until="slurm")
    foreign = dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, gid=64030))
    accounts = tuple(dataclasses.replace(account, gid=64030) for account in foreign.spec.accounts)
    foreign = dataclasses.replace(foreign, spec=dataclasses.replace(foreign.spec, accounts=accounts))
    with pytest.raises(PermanentError) as refused:
        lab.site["slurm"].apply(foreign)
    assert refused.value.reason == "GidTaken"
    assert not lab.folder(ctx).exists()

    ready = lab.prepare(ctx, until="identity")
    taken = dataclasses.replace(ready.spec.accounts[-1], uid=64030)
    spec = dataclasses.replace(ready.spec, accounts=(*ready.spec.accounts[:-1], taken))
    with pytest.raises(PermanentError) as refused:
        lab.site["identity"].apply(dataclasses.replace(ready, spec=spec))
    assert refused.value.reason == "UidTaken"
    assert unix.user_of_id(64030) == "slurm"


def test_a_group_of_the_same_name_is_left_alone(lab: Lab) -> None:
    ctx = lab.prepare(lab.cluster(), until="slurm")
    group = f"fh{ctx.spec.name[2:]}"
    unix.add_group(group, ctx.spec.gid)
    try:
        with pytest.raises(PermanentError) as refused:
            lab.site["slurm"].apply(ctx)
        assert refused.value.reason == "NameTaken"
        lab.site["slurm"].remove(ctx)
        assert unix.group_id(group) == ctx.spec.gid
    finally:
        unix.remove_group(group)
    settle(lab.site["slurm"], ctx)


def test_a_key_that_changed_is_taken_over(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    fresh = dataclasses.replace(ctx, secrets={"slurm-jwt-key": b"k" * 32})
    assert lab.site["slurm"].observe(fresh).in_sync is False
    settle(lab.site["slurm"], fresh)
    settle(lab.site["identity"], fresh)
    account = ctx.spec.accounts[-1].name
    assert lab.gateway(fresh, account).nodes()
    with pytest.raises(TemporaryError):
        lab.gateway(ctx, account).nodes()


def test_a_port_in_use_is_reported_and_waited_for(lab: Lab) -> None:
    ctx = lab.prepare(lab.cluster(), until="slurm")
    other = lab.bring_up(lab.cluster())
    blocked = dataclasses.replace(ctx, ports=other.ports)
    with pytest.raises(TemporaryError) as refused:
        lab.site["slurm"].apply(blocked)
    assert refused.value.reason == "PortInUse"
    settle(lab.site["slurm"], ctx)
    drive_away(lab.site["slurm"], ctx)
