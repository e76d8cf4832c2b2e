"""The local console against real daemons."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusters.clients.slurm_console import local
from clusters.clients.slurm_console.console import NoTools
from clusters.clients.slurm_console.local import Controller, LocalConsole
from clusters.clients.slurmrest import errors, tokens
from portal.lib.errors import OutsideError
from tests.contract.slurm_console.contract import ConsoleContract, Consoles
from tests.contract.slurmrest.lab import SlurmLab, slurm_lab

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with slurm_lab() as running:
        yield running


def console(
    lab: SlurmLab, member: int = 0, *, key: bytes | None = None, port: int | None = None
) -> LocalConsole:
    account = lab.members[member].name
    where = Controller(lab.name, "127.0.0.1", port or lab.port + 1)
    return LocalConsole(where, account, lambda: tokens.mint(account, key or lab.key), 4.0)


@pytest.fixture
def consoles(lab: SlurmLab) -> Consoles:
    return lambda member: console(lab, member)


class TestLocal(ConsoleContract):
    """By programs on this machine."""


@pytest.mark.parametrize("act", [lambda one: one.requeue("1"), lambda one: list(one.queue())])
def test_nothing_is_believed_of_a_silent_controller(
    lab: SlurmLab, act: Callable[[LocalConsole], object]
) -> None:
    strange = console(lab, key=b"x" * 32), console(lab, port=lab.port + 5)
    for one in strange:
        with pytest.raises((errors.NotReachable, errors.Unclear, errors.TokenRefused)):
            act(one)
    with lab.without_controller():
        began = time.monotonic()
        with pytest.raises((errors.NotReachable, errors.Unclear)):
            act(console(lab))
        assert time.monotonic() - began < 20


def test_a_tool_that_hangs_is_ended_and_one_that_is_missing_is_named(
    lab: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = lab.members[0].name
    one = LocalConsole(Controller(lab.name, "127.0.0.1", lab.port + 1), account, lambda: "token", 0.5)
    monkeypatch.setattr(local, "PATH", str(tmp_path))
    with pytest.raises(NoTools):
        one.requeue("1")
    for name in ("scontrol", "squeue"):
        (tmp_path / name).write_text("#!/bin/sh\nexec /bin/sleep 60\n")
        (tmp_path / name).chmod(0o755)
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    began = time.monotonic()
    with pytest.raises(errors.Unclear):
        one.requeue("1")
    with pytest.raises(OutsideError):
        list(one.queue())
    assert time.monotonic() - began < 30
