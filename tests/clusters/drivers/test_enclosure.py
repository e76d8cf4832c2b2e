"""What jobs see and may use of the machine that they share with other tenants' jobs and the portal."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from clusters.drivers.local import daemons, enclosure, teardown
from clusters.provisioning.steps import StepContext
from tests.clusters.drivers.lab import Lab, open_lab, until

pytestmark = [pytest.mark.slow]
PLACES = ("/tmp", "/var/tmp", "/dev/shm")
LOOK = "cat {files} 2>&1; ipcs -m | grep -c 0x"
WRITE = """\
for file in {files}; do echo mine >$file; chmod 644 $file; done
ipcmk -M 4096 -p 0644 >/dev/null
srun {look}
touch written
until [ -e enough ]; do sleep 0.1; done"""


def mounts() -> list[str]:
    """What is mounted where everyone sees it, but for network namespaces of tests beside this one."""
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if line.split()[2] != "nsfs"]


def home(lab: Lab, ctx: StepContext) -> Path:
    """The last member's home."""
    return lab.folder(ctx) / "home" / ctx.spec.accounts[-1].name


def files_of(ctx: StepContext) -> str:
    """Names that only this test uses, in every folder that everyone may write to."""
    return " ".join(f"{place}/secret-{ctx.spec.name}" for place in PLACES)


def test_what_a_job_leaves_in_tmp_no_other_tenant_sees(lab: Lab) -> None:
    before = mounts()
    own, other = lab.bring_up(lab.cluster()), lab.bring_up(lab.cluster())
    files = files_of(own)
    look = home(lab, own) / "look"
    look.write_text("#!/bin/bash\n" + LOOK.format(files=files))
    look.chmod(0o755)
    job = lab.submit(own, WRITE.format(files=files, look=look))
    until((home(lab, own) / "written").exists, what="the job has written")

    # a second step of the same job sees all of it, another tenant's job at the same time nothing
    assert lab.output(own, job).splitlines() == ["mine"] * 3 + ["1"]
    theirs = lab.run(other, LOOK.format(files=files) + " || true").splitlines()
    assert [line.rpartition(": ")[2] for line in theirs] == ["No such file or directory"] * 3 + ["0"]
    assert not [name for name in files.split() if Path(name).exists()]
    assert mounts() == before

    (home(lab, own) / "enough").touch()
    lab.take_down(own)
    assert not lab.folder(own).exists()
    assert mounts() == before


def test_a_job_sees_its_own_processes_only(lab: Lab) -> None:
    own, other = lab.bring_up(lab.cluster(members=2)), lab.bring_up(lab.cluster())
    mark = f"sleep 997.{own.spec.gid}"
    lab.submit(own, mark)
    until(lambda: mark in lab.run(own, "ps axo args"), what="the owner sees it")
    colleague = own.spec.accounts[-2].name
    for seen in (
        lab.run(other, "ps axo user:40,args"),
        lab.run(own, "ps axo user:40,args", account=colleague),
    ):
        assert "ps axo" in seen
        assert mark not in seen
        assert {line.split()[0] for line in seen.splitlines()[1:]} <= {
            colleague,
            other.spec.accounts[-1].name,
        }


FORK = """\
exec python3 -I -c '
import os, time
done = 0
try:
    for _ in range(2000):
        os.posix_spawn("/bin/sleep", ["sleep", "600"], {})
        done += 1
except BlockingIOError as error:
    print(done, error.errno, flush=True)
time.sleep(600)'"""


def test_a_job_that_forks_without_end_meets_its_limit(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster(members=2))
    bomb, second = ctx.spec.accounts[-1].name, ctx.spec.accounts[-2].name
    job = lab.submit(ctx, FORK)
    until(lambda: lab.output(ctx, job).endswith("\n"), seconds=120, what="the limit is met")
    forked, error = map(int, lab.output(ctx, job).split())
    assert enclosure.PROCESSES - 16 <= forked < enclosure.PROCESSES
    assert error == 11

    # a second account works beside it, and so does the rest of the machine
    assert lab.run(ctx, "seq 50 | xargs -n 1 -P 10 echo | wc -l", account=second) == "50\n"
    assert subprocess.run(["/bin/true"], check=False).returncode == 0
    gateway = lab.gateway(ctx, bomb)
    gateway.cancel(str(job))
    until(lambda: gateway.job(job)[0].is_finished, seconds=120, what="the job is cancelled")
    assert lab.run(ctx, "echo again") == "again\n"


def test_limits_hold_though_a_job_asks_for_more(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    memory = 8000 * 1024
    told = lab.run(
        ctx,
        "export SLURM_RLIMIT_NPROC=U90000; ulimit -u 90000 2>/dev/null\n"
        "echo $(ulimit -Hu; ulimit -Hn; ulimit -Hc; ulimit -Hd; nice; umask)\n"
        "grep -o 'NoNewPrivs:.*' /proc/self/status; stat -c %a .; grep -o 'nice.*' /proc/self/autogroup",
    ).split()
    assert told[:3] == [str(enclosure.PROCESSES), str(enclosure.OPEN_FILES), "0"]
    assert 0 < int(told[3]) <= memory
    assert told[4:9] == [str(enclosure.NICE), "0022", "NoNewPrivs:", "1", "700"]
    assert told[9:] in ([], ["nice", str(enclosure.NICE)])


def test_nothing_stays_mounted_when_everything_is_killed(lab: Lab) -> None:
    before = mounts()
    ctx = lab.bring_up(lab.cluster())
    lab.submit(ctx, "touch /tmp/left; touch begun; sleep 998")
    until((home(lab, ctx) / "begun").exists, what="the job runs")
    conf = str(lab.folder(ctx) / "etc" / "slurm.conf")
    for kinds in (("slurmd",), (daemons.STEP_DAEMON,)):
        found = [one.record for one in daemons.find(conf.__eq__, kinds=kinds)]
        assert len(daemons.signal_all(found, signal.SIGKILL)) == len(found) > 0
        assert not daemons.wait_gone(found, seconds=20)
    assert mounts() == before
    assert teardown.remove_all(lab.settings.data) == 1
    assert list(lab.settings.clusters.iterdir()) == []
    assert mounts() == before


def test_a_cluster_that_lies_in_tmp_stays_in_reach_of_its_jobs() -> None:
    lab = open_lab(above="/tmp")
    try:
        ctx, other = lab.bring_up(lab.cluster()), lab.bring_up(lab.cluster())
        seen = lab.run(ctx, f"ls {lab.settings.clusters}; ls -A /tmp; touch /tmp/mine")
        assert seen.split() == [ctx.spec.name, lab.settings.data.name]
        assert not Path("/tmp/mine").exists()
        assert lab.run(other, "ls /tmp").split() == [lab.settings.data.name]
    finally:
        lab.close()


def test_a_machine_that_allows_no_namespaces_says_so(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    own = lab.bring_up(lab.cluster())
    assert own.facts["slurm"]["temporary_folders"] == "own"
    monkeypatch.setattr(enclosure, "is_allowed", lambda: False)
    other = lab.bring_up(lab.cluster())
    assert other.facts["slurm"]["temporary_folders"].startswith("shared")
    assert lab.run(other, "nice").strip() == str(enclosure.NICE)
    assert shutil.which("unshare")
