"""`make run` as a whole: restarts, crashes, quick second starts, and nothing left behind."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import psutil
import pytest

from portal.lib import processes
from portal.run.layout import USER
from tests.e2e.supervised import PARENT, ROOT, Portal
from tests.e2e.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("run")]
PARTS = ("web", "oidc", "worker", "beat", "local", "observer", "outputs")
AS_ROOT = {"local", "outputs"}
QUICK = 45.0  # seconds; six on a machine that does nothing else, and without making anything anew


@pytest.fixture(scope="module")
def portal() -> Iterator[Portal]:
    """A portal that each test leaves running."""
    made = Portal(PARENT / f"test-run-{secrets.token_hex(4)}")
    made.start()
    yield made
    made.stop()
    made.clean()
    assert not made.data.exists()


def _pid(portal: Portal, part: str) -> int:
    return until(lambda: portal.pid_of(part), f"{part} runs\n{portal.said()}") or 0


def _supervisors(portal: Portal) -> list[psutil.Process]:
    """`portal.run` and supervisord, the first above the second."""
    below = psutil.Process(_pid(portal, "web")).parent()
    assert below is not None
    above = below.parent()
    assert above is not None
    return [above, below]


def test_each_part_runs_as_its_user_and_listens_on_loopback_only(portal: Portal) -> None:
    for part in PARTS:
        process = psutil.Process(_pid(portal, part))
        assert process.username() == ("root" if part in AS_ROOT else USER), part
    pids = {psutil.Process(_pid(portal, part)).pid for part in PARTS}
    pids |= {child.pid for pid in set(pids) for child in psutil.Process(pid).children(recursive=True)}
    listening = {
        (connection.laddr.ip, connection.laddr.port)
        for pid in pids
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {("127.0.0.1", portal.web_port), ("127.0.0.1", portal.oidc_port)}


def test_folders_with_secrets_are_closed_and_the_clusters_can_be_reached(portal: Portal) -> None:
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in portal.data.iterdir()}
    closed = dict.fromkeys(("pg", "redis", "keys", "state", "log", "supervisor"), "0o700")
    assert closed.items() <= modes.items()
    assert modes["clusters"] == "0o711"
    assert oct(portal.data.stat().st_mode & 0o777) == "0o711"


def test_the_second_start_is_quick_and_ctrl_c_leaves_nothing(portal: Portal) -> None:
    assert portal.stop(signal.SIGINT) == 0
    assert portal.leftovers() == []
    begin = time.monotonic()
    portal.start()
    assert time.monotonic() - begin < QUICK
    assert _status(portal) == 200


def test_a_killed_supervisor_leaves_nothing_that_blocks_the_next_start(portal: Portal) -> None:
    observer = processes.record(_pid(portal, "observer"))
    # parts hear from the kernel that their parent died; this one is no child of it and hears nothing
    with subprocess.Popen(["sleep", "600"], env={"FREEHOLD_SUPERVISED": str(portal.data)}) as deaf:
        for process in _supervisors(portal):
            process.kill()
        assert portal.stop() == -signal.SIGKILL
        assert deaf.poll() is None
        portal.start()
        assert deaf.wait(timeout=30) == -signal.SIGTERM
    assert _status(portal) == 200
    assert not processes.is_running(observer)


def test_a_second_one_on_the_same_data_is_refused(portal: Portal) -> None:
    for command in (["portal.run"], ["portal.run", "clean"]):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "FREEHOLD_DATA": str(portal.data)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 1
        assert "is running (process" in done.stdout + done.stderr
    assert _status(portal) == 200


def _status(portal: Portal) -> int:
    try:
        with urllib.request.urlopen(f"{portal.url}/health/", timeout=10) as answer:  # noqa: S310  (loopback)
            return int(answer.status)
    except OSError:
        return 0
