"""A process is signalled only when it is surely the one that was recorded."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.lib import processes
from tests.e2e.waiting import until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing until it is ended."""
    with subprocess.Popen(["/bin/sleep", "600"], env={"MARK": "ours", "OTHER": "1"}) as started:
        # the kernel shows a new program's environment a moment after its start
        until(lambda: Path(f"/proc/{started.pid}/environ").read_bytes(), "the child's environment")
        yield started
        started.kill()


def test_a_recorded_process_is_known_and_ended(child: subprocess.Popen[bytes]) -> None:
    known = processes.record(child.pid, environment="MARK=ours")
    assert known.executable == str(Path("/bin/sleep").resolve())
    assert processes.is_running(known)
    assert processes.send_signal(known, signal.SIGTERM)
    assert child.wait(timeout=10) == -signal.SIGTERM
    assert not processes.is_running(known)
    assert not processes.send_signal(known, signal.SIGTERM)


@pytest.mark.parametrize(
    "other",
    [
        {"started": 1},
        {"executable": "/usr/bin/another"},
        {"environment": "MARK=another's"},
        {"environment": "MARK=our"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_process_that_took_the_pid_is_not_signalled(
    child: subprocess.Popen[bytes], other: dict[str, object]
) -> None:
    known = processes.record(child.pid, environment="MARK=ours")
    assert processes.is_running(known)
    stranger = dataclasses.replace(known, **other)  # type: ignore[arg-type]
    assert not processes.is_running(stranger)
    assert not processes.send_signal(stranger, signal.SIGKILL)
    assert child.poll() is None


def test_a_zombie_does_not_run(child: subprocess.Popen[bytes]) -> None:
    known = processes.record(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not processes.is_running(known)


def test_a_name_with_blanks_and_brackets_is_read(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 (b"
    shutil.copy("/bin/sleep", odd)
    with subprocess.Popen([odd, "600"]) as child:
        try:
            known = processes.record(child.pid)
            assert known.executable == str(odd)
            assert processes.parent_of(child.pid) == os.getpid()
            assert processes.is_running(known)
        finally:
            child.kill()


def test_a_process_that_is_gone_cannot_be_recorded(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    with pytest.raises(OSError, match=str(child.pid)):
        processes.record(child.pid)


def test_a_process_can_ask_to_end_with_its_parent(tmp_path: Path) -> None:
    child = (
        "import signal, sys, time; from portal.lib import processes; "
        "processes.die_with_parent(signal.SIGKILL); print('asked', flush=True); time.sleep(600)"
    )
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", parent], cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "asked\n"
        (below,) = (pid for pid in processes.descendants([run.pid]) if pid != run.pid)
        known = processes.record(below)
        run.kill()
        run.wait()
        until(lambda: not processes.is_running(known), "the child ends with its parent")
