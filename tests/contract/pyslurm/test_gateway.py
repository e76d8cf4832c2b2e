"""Queue and nodes through a child process that may end, hang or fail whenever it likes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from clusters.clients.pyslurm.gateway import PyslurmGateway
from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import ExitCode

GOOD = """
import os
from types import SimpleNamespace as Thing

class Jobs:
    def load():
        return {"alpha": {
            7: Thing(id=7, name="running", state="RUNNING", user_name="alice", user_id=1000, partition="gpu",
                     comment="c", time_limit=60, num_nodes=1, cpus=4, start_time=1796040144,
                     gres_per_node={"gpu:a100": 2}, standard_output="/home/alice/slurm-7.out",
                     state_reason="None", working_directory="/home/alice", constraints=["a", "b"]),
            8: Thing(id=8, name=os.environ["SLURM_CONF"], state="FAILED", exit_code=3, exit_code_signal=0,
                     state_reason="NonZeroExitCode"),
        }}

class Nodes:
    def load():
        return {"n1": Thing(name="n1", state="MIXED+DRAIN", total_cpus=8, allocated_cpus=4, real_memory=16000,
                            configured_gres={"gpu:a100": {"count": 4}}, allocated_gres={"gpu:a100": 2},
                            partitions=["debug", "gpu"], slurm_version="25.11.2", reason="fan")}
"""
BAD = {
    "fatal": "import os, sys\nsys.stderr.write('fatal: no slurm.conf')\nsys.stderr.flush()\nos._exit(1)",
    "error": "class Jobs:\n    def load():\n        raise RuntimeError('Unable to contact slurm controller')",
    "hang": "import time\nclass Jobs:\n    def load():\n        time.sleep(600)",
    "dies": "import os\nclass Jobs:\n    def load():\n        os._exit(139)",
    "noise": "class Jobs:\n    def load():\n        return {1: object()}",
}
Make = Callable[..., PyslurmGateway]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A gateway whose child finds this library."""
    made: list[PyslurmGateway] = []

    def one(library: str, *, timeout: float = 30.0) -> PyslurmGateway:
        (tmp_path / "pyslurm.py").write_text(library)
        environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        made.append(PyslurmGateway(tmp_path / "slurm.conf", timeout=timeout, environment=environment))
        return made[-1]

    yield one
    for gateway in made:
        gateway.close()


def test_queue_and_nodes_are_the_records_of_the_other_gateway(make: Make, tmp_path: Path) -> None:
    gateway = make(GOOD)
    running, failed = gateway.jobs().jobs
    assert (running.job_id, running.name, running.state, running.user_name) == (
        7,
        "running",
        "RUNNING",
        "alice",
    )
    assert (running.gpus.total, running.time_limit, running.cpus, running.reason) == (2, 60, 4, "")
    assert (running.features, running.standard_output) == ("a,b", "/home/alice/slurm-7.out")
    assert (failed.state, failed.exit_code, failed.name) == (
        "FAILED",
        ExitCode(status=3),
        str(tmp_path / "slurm.conf"),
    )
    (node,) = gateway.nodes()
    assert (node.state, node.flags, node.is_usable) == ("MIXED", frozenset({"DRAIN"}), False)
    assert (node.gpus.by_model, node.gpus_allocated.total) == ((("a100", 4),), 2)
    assert (node.partitions, node.slurmd_version, node.memory) == (("debug", "gpu"), "25.11.2", 16000)


def test_one_child_answers_all_questions_and_is_ended(make: Make) -> None:
    before = set(psutil.Process().children())
    gateway = make(GOOD)
    gateway.jobs()
    gateway.nodes()
    (child,) = set(psutil.Process().children()) - before
    gateway.close()
    assert not child.is_running()
    assert len(gateway.jobs().jobs) == 2  # closed is not broken


@pytest.mark.parametrize(
    ("library", "kind", "words"),
    [
        ("fatal", errors.BadAnswer, "pyslurm ended"),
        ("dies", errors.BadAnswer, "pyslurm ended"),
        ("error", errors.NotReachable, "Unable to contact slurm controller"),
        ("hang", errors.NotReachable, "in time"),
        ("noise", errors.BadAnswer, "cannot be read"),
    ],
)
def test_whatever_the_library_does_the_portal_lives_and_asks_again(
    make: Make, library: str, kind: type[Exception], words: str
) -> None:
    gateway = make(BAD[library], timeout=1.0 if library == "hang" else 30.0)
    with pytest.raises(kind, match=words) as caught:
        gateway.jobs()
    if library == "fatal":
        assert isinstance(caught.value, errors.BadAnswer)
        assert "no slurm.conf" in caught.value.extract
    gateway.close()
    again = make(GOOD)
    assert len(again.jobs().jobs) == 2


def test_without_the_library_it_says_so(tmp_path: Path) -> None:
    gateway = PyslurmGateway(tmp_path / "slurm.conf")
    with pytest.raises(errors.BadAnswer) as caught:
        gateway.jobs()
    assert "pyslurm" in caught.value.extract
    gateway.close()
