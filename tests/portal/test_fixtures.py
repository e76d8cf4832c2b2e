"""The tests' own servers and rules: a killed run leaves no process, and CI lets nothing be skipped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.e2e.waiting import until
from tests.fixtures import ci, ports, servers

ROOT = Path(__file__).resolve().parents[2]
VICTIM = """
import os, sys, time
from pathlib import Path
from tests.fixtures.servers import Servers
Servers(Path(sys.argv[1]), worker="main").start()
print("started", flush=True)
time.sleep(600)
"""
SKIPPED = """
import pytest
def test_runs(): assert True
@pytest.mark.skip(reason="no browser")
def test_skipped(): assert True
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter, as the servers do; pytest's own is closed to them."""
    with tempfile.TemporaryDirectory(prefix="fh-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.mark.xdist_group("seen")
def test_xdist_sees_groups(request: pytest.FixtureRequest) -> None:
    """It hands tests out by what it adds to their ids; a pytest that ignores this costs ten minutes."""
    shared = request.config.getoption("loadgroup", default=False)  # only workers have this option
    assert request.node.nodeid.endswith("@seen") == shared


@pytest.mark.slow
def test_a_killed_run_leaves_no_server_and_its_folder_goes_with_the_next(open_folder: Path) -> None:
    folder = open_folder / f"{servers.PREFIX}x"
    folder.mkdir(mode=0o711)
    with subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "started\n"
        started = psutil.Process(run.pid).children(recursive=True)
        assert {"postgres", "redis-server"} <= {process.name() for process in started}
        run.send_signal(signal.SIGKILL)
    until(lambda: not any(_alive(process) for process in started), "the servers end with their run")
    assert folder.exists()
    servers.sweep(open_folder)
    assert not folder.exists()


def test_the_folder_of_a_living_run_is_not_swept(tmp_path: Path) -> None:
    folder = tmp_path / f"{servers.PREFIX}mine"
    folder.mkdir()
    servers.write_owner(folder)
    servers.sweep(tmp_path)
    assert folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("variable", "code"), [("true", 1), ("", 0)])
def test_a_skip_fails_the_run_in_ci_only(tmp_path: Path, variable: str, code: int) -> None:
    (tmp_path / "test_it.py").write_text(SKIPPED)
    command = [sys.executable, "-m", "pytest", "-p", "tests.fixtures.ci", "-c", "/dev/null"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-p", "no:django", "--rootdir", str(tmp_path), str(tmp_path)],
        env={**os.environ, "CI": variable, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("allows no skip" in done.stdout) is bool(code)


def test_what_is_not_installed_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "chromium" in ci.missing()
    program = tmp_path / "chromium"
    program.touch(mode=0o755)
    assert "chromium" not in ci.missing()


def _alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_no_two_workers_choose_the_same_ports() -> None:
    shares = [ports.share(f"gw{number}") for number in range(ports.SHARES)]
    assert len({port for share in shares for port in share}) == sum(map(len, shares))
    assert {share.start for share in shares} <= set(ports.share(""))
    assert all(len(share) > 1_000 for share in shares)
