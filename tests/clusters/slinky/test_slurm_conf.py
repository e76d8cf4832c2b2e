"""The lines that we add to slurm.conf, taken by a real slurmctld; a misspelt one is not."""

from __future__ import annotations

import dataclasses
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.drivers.slinky import conf
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.provisioning.steps import ClusterSpec, PoolSpec
from tests.contract.kube.driven import spec_of
from tests.contract.kube.drivers.slinky import another_pool
from tests.contract.slurmrest.lab import NODES, SlurmLab, until
from tests.fixtures.ports import free_block

pytestmark = [pytest.mark.slow]

# what slurm-operator writes before our lines, but for authentication and paths, which are the test's own
HEADER = """\
ClusterName={name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket={root}/run/munge.sock
CredType=cred/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/run/ctld.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmctldParameters=enable_configless
AccountingStorageType=accounting_storage/none
"""


class Controller(SlurmLab):
    """munged and slurmctld, with a configuration of the test's."""

    text: str = ""

    def begin(self) -> None:
        """Start both."""
        for folder in ("etc", "state", "spool", "log", "run", "bin", "home"):
            (self.root / folder).mkdir()
        self.write()
        self.conf.write_text(HEADER.format(name=self.name, port=self.port, root=self.root) + self.text)
        (self.root / "etc" / "gres.conf").write_text("")
        (self.root / "etc" / "cgroup.conf").write_text(conf.CGROUP.replace("cgroup/v2", "autodetect"))
        run, log = self.root / "run", self.root / "log"
        munged = [f"--socket={run}/munge.sock", f"--key-file={self.root}/etc/munge.key", "--force"]
        munged += [f"--pid-file={run}/munged.pid", f"--seed-file={run}/seed", f"--log-file={log}/munged.log"]
        self.spawn("munged", "-F", *munged, user="slurm")
        until((run / "munge.sock").exists, what="munged")
        self.spawn("slurmctld", "-D", "-f", str(self.conf), user="slurm")

    def answers(self) -> bool:
        """Whether it runs; its end is an error of the test or of the configuration."""
        if self.processes["slurmctld-1"].poll() is not None:
            raise RuntimeError("".join(path.read_text() for path in (self.root / "log").iterdir()))
        done = subprocess.run(
            ["scontrol", "ping"],
            env={"PATH": "/usr/bin:/bin", "SLURM_CONF": str(self.conf)},
            capture_output=True,
            text=True,
            check=False,
        )
        return "is UP" in done.stdout


@pytest.fixture
def controller() -> Iterator[Controller]:
    """Not started yet."""
    root = Path(tempfile.mkdtemp(prefix="fhconf-"))
    root.chmod(0o755)
    one = Controller(root, f"conf{secrets.token_hex(3)}", free_block(10 + NODES).start, [])
    yield one
    one.stop()
    shutil.rmtree(root, ignore_errors=True)


def lines(spec: ClusterSpec) -> str:
    """Ours, and the nodes and partitions as the operator writes them from our NodeSets."""
    found = [conf.extra_conf(spec, accounting=False)]
    for pool in spec.pools:
        found.append(
            f"NodeName={pool.name}-[0-1] CPUs=8 RealMemory=16000 {conf.node_conf(pool)} State=FUTURE"
        )
        found.append(f"PartitionName={pool.name} Nodes={pool.name}-[0-1] {conf.partition(pool, spec)}")
    return "\n".join([*found, ""])


def spec() -> ClusterSpec:
    """With GPUs of a named model, and without."""
    return another_pool(spec_of())


def test_a_real_slurmctld_takes_them_as_they_are(controller: Controller) -> None:
    controller.text = lines(spec())
    controller.begin()
    until(controller.answers, what="slurmctld")
    told = dict(
        re.findall(r"^(\w+)\s+= (.*)$", controller.command("scontrol", "show", "config"), re.MULTILINE)
    )
    for line in conf.extra_conf(spec(), accounting=False).splitlines():
        key, _, value = line.partition("=")
        assert set(value.lower().split(",")) == set(told[key].strip().lower().split(",")), line
    shown = controller.command("scontrol", "-o", "show", "partition", "gpu")
    assert "Default=YES" in shown
    assert "MaxTime=7-00:00:00" in shown
    assert "Default=NO" in controller.command("scontrol", "-o", "show", "partition", "cpu-only")
    log = (controller.root / "log" / "slurmctld.log").read_text()
    assert [line for line in log.splitlines() if "error" in line.lower() and "Prolog" in line] == []


@pytest.mark.parametrize("name", ["GresTypes", "SelectType", "PrologFlags", "MaxArraySize"])
def test_a_misspelt_line_is_not_taken(controller: Controller, name: str) -> None:
    controller.text = lines(spec()).replace(f"{name}=", f"{name}x=", 1)
    controller.begin()
    with pytest.raises(RuntimeError, match=f"{name}x"):
        until(controller.answers, what="slurmctld")


def test_gpus_of_a_pool_without_a_model_are_a_plain_number() -> None:
    pool = spec().pools[0]
    plain = dataclasses.replace(pool, flavor=dataclasses.replace(pool.flavor, gpu_type=""))
    assert (conf.node_conf(pool), conf.node_conf(plain)) == ("Gres=gpu:h100:8", "Gres=gpu:8")
    assert conf.node_conf(spec().pools[1]) == ""


def test_a_cluster_without_gpus_says_nothing_of_them() -> None:
    only_cpus = dataclasses.replace(spec(), pools=spec().pools[1:])
    assert "gpu" not in conf.extra_conf(only_cpus, accounting=True)
    assert "AccountingStorageTRES=gres/gpu" in conf.extra_conf(spec(), accounting=True)


def test_every_constraint_is_on() -> None:
    assert [line for line in conf.CGROUP.splitlines() if line.startswith("Constrain")] == [
        "ConstrainCores=yes",
        "ConstrainRAMSpace=yes",
        "ConstrainDevices=yes",
    ]
    assert conf.gres_conf(SlinkySettings(detect="nvml")) == "AutoDetect=nvml\n"


def test_the_prolog_makes_the_home_of_a_members_first_job_and_no_other(tmp_path: Path) -> None:
    script = tmp_path / "prolog.sh"
    script.write_text(conf.HOME_SCRIPT.replace("/home/", f"{tmp_path}/"))

    def run(user: str, uid: str = "4321") -> None:
        facts = {
            "PATH": "/usr/bin:/bin",
            "SLURM_JOB_USER": user,
            "SLURM_JOB_UID": uid,
            "SLURM_JOB_GID": "4320",
        }
        subprocess.run(["sh", str(script)], env=facts, check=True, capture_output=True)

    run("fhmember1")
    home = tmp_path / "fhmember1"
    assert (home.stat().st_uid, home.stat().st_gid, home.stat().st_mode & 0o777) == (4321, 4320, 0o700)
    (home / "kept").touch()
    run("fhmember1")
    assert (home / "kept").exists()
    for user in ("root", "", "fh../../etc", "fh", "someone", "fhUpper"):
        run(user)
    run("fhroot", uid="0")
    assert {path.name for path in tmp_path.iterdir()} - {"fh"} == {"prolog.sh", "fhmember1"}


def test_accounts_that_ended_have_no_shell_and_no_group() -> None:
    ended = dataclasses.replace(spec().accounts[1], active=False)
    some = dataclasses.replace(spec(), accounts=(spec().accounts[0], ended))
    first, second = conf.passwd(some).splitlines()
    assert first == "fhobserver1:x:70001:70000:Freehold observer:/home/fhobserver1:/bin/bash"
    assert second.endswith(":/usr/sbin/nologin")
    assert conf.group(some).endswith(":x:70000:fhobserver1\n")


def test_pools_of_any_name_keep_to_one_line() -> None:
    pool = PoolSpec("a-b", spec().pools[0].flavor, ("m",))
    named = dataclasses.replace(spec(), pools=(pool,))
    assert "\n" not in conf.partition(pool, named) + conf.node_conf(pool)
