"""The set-up before anything is installed: what is missing, where the environment lies, what is refused."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from setup import __main__ as setup_main
from setup import debian, environment
from setup.progress import SetupFailed, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with lock files and a cache of its own."""
    made = tmp_path / "clone"
    shutil.copytree(ROOT / "requirements", made / "requirements")
    monkeypatch.setattr(environment, "CACHE", tmp_path / "cache")
    return made


def _complete(place: Path) -> Path:
    place.mkdir(parents=True)
    (place / environment.COMPLETE).touch()
    return place


def test_who_waits_for_another_set_up_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "CACHE", tmp_path)
    with setup_main._alone():
        pass
    assert capsys.readouterr().out == ""
    said, free = threading.Event(), (tmp_path / "setup.lock").open("w")

    def say(text: str) -> None:
        print(text)
        said.set()

    monkeypatch.setattr(setup_main, "say", say)
    fcntl.flock(free, fcntl.LOCK_EX)

    def let_go() -> None:
        said.wait(10)
        free.close()

    other = threading.Thread(target=let_go)
    other.start()
    with setup_main._alone():
        assert "Another set-up runs on this machine" in capsys.readouterr().out
    other.join()


def test_only_packages_that_are_not_installed_are_missing() -> None:
    assert debian._missing(("bash", "no-such-package-of-debian", "coreutils")) == [
        "no-such-package-of-debian"
    ]


def test_elsewhere_than_on_debian_it_says_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupFailed, match=r"not a Debian.*slurmctld"):
        debian.install("run", log=tmp_path / "log")


def test_packages_that_cannot_be_had_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, code in (("dpkg-query", 1), ("apt-get", 100)):
        (programs / name).write_text(f"#!/bin/sh\necho E: nothing here\nexit {code}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    with pytest.raises(SetupFailed, match=r"Missing: python3-venv, postgresql.*munge"):
        debian.install("run", log=tmp_path / "log")


def test_the_environment_is_found_again_and_follows_the_lock(clone: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    lock = clone / "requirements" / "run.txt"
    made = _complete(environment._place(lock))
    assert environment.ensure("run", clone=clone, log=log) == made
    assert (clone / ".venv").readlink() == made
    lock.write_text(lock.read_text() + "# changed\n")
    assert environment._place(lock) != made


def test_make_run_does_not_take_the_tests_tools_away(clone: Path, tmp_path: Path) -> None:
    _complete(environment._place(clone / "requirements" / "run.txt"))
    full = _complete(environment._place(clone / "requirements" / "dev.txt"))
    assert environment.ensure("run", clone=clone, log=tmp_path / "log") == full


def test_a_folder_named_venv_is_not_touched(clone: Path) -> None:
    (clone / ".venv").mkdir()
    with pytest.raises(SetupFailed, match="Move it away"):
        environment._link(clone / ".venv", clone)
    assert (clone / ".venv").is_dir()


def test_the_tests_lock_holds_everything_of_the_portals() -> None:
    locks = [_pins(ROOT / "requirements" / name) for name in ("run.txt", "dev.txt")]
    assert len(locks[0]) > 30
    assert locks[0] <= locks[1]


def test_a_failed_command_shows_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    failing = ["sh", "-c", "echo reason; exit 3"]
    assert not run(failing, log=log, note=lambda _: None)
    assert "reason" in capsys.readouterr().out
    assert log.read_text() == "reason\n"
    assert run(["true"], log=log, note=lambda _: None)


def test_it_needs_nothing_that_is_not_in_a_bare_python() -> None:
    command = [
        "/usr/bin/python3",
        "-I",
        "-S",
        "-c",
        "import sys; sys.path.insert(0, '.'); import setup.__main__",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _pins(lock: Path) -> set[str]:
    return {line.split(" ")[0] for line in lock.read_text().splitlines() if "==" in line}
