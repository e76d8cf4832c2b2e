"""Reads the steps of a job as slurmdbd tells of them: each one, and what they took together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from clusters.clients.slurmrest.dialects.records import main_state
from clusters.clients.slurmrest.models import ExitCode
from clusters.clients.slurmrest.past import JobUse, PastStep
from clusters.clients.slurmrest.wire import WireNumber, count, moment

MIB: Final = 1024 * 1024
FIRST_STEPS, LAST_STEPS = 50, 50  # of a job that has more: a loop of srun makes thousands


class Tres(msgspec.Struct):
    """An amount of something that can be counted."""

    type: str = ""
    name: str | None = None
    count: WireNumber = None


class Seconds(msgspec.Struct):
    """A length of time."""

    seconds: WireNumber = None
    microseconds: WireNumber = None


class Time(msgspec.Struct):
    """Of a job or a step."""

    elapsed: WireNumber = None
    start: WireNumber = None
    end: WireNumber = None
    submission: WireNumber = None
    total: Seconds | None = None


class _Used(msgspec.Struct):
    max: list[Tres] | None = None
    average: list[Tres] | None = None


class _StepTres(msgspec.Struct):
    requested: _Used | None = None


class _Name(msgspec.Struct):
    id: object = None  # a number, "batch", or "14.batch"
    name: str | None = None


class _Nodes(msgspec.Struct):
    count: WireNumber = None


class _Tasks(msgspec.Struct):
    count: WireNumber = None


class Step(msgspec.Struct):
    """The script itself, what is started beside it, or one srun."""

    time: Time | None = None
    tres: _StepTres | None = None
    step: _Name | None = None
    state: str | list[str] | None = None
    nodes: _Nodes | None = None
    tasks: _Tasks | None = None
    exit_code: msgspec.Raw = msgspec.Raw(b"null")


def words(told: str | list[str] | None) -> list[str]:
    """One word before v0.0.40, then a list."""
    return [told] if isinstance(told, str) else told or []


def amount(tres: list[Tres], kind: str, name: str = "") -> int:
    """How much of this kind."""
    return sum(count(one.count) for one in tres if one.type == kind and (one.name or "") == name)


def use_of(steps: list[Step]) -> JobUse:
    """What the steps took together."""
    seconds, memory, busy = 0.0, 0, list[int]()
    for step in steps:
        seconds += _seconds(step)
        memory = max(memory, _memory(step))
        used = step.tres.requested if step.tres else None
        busy += [count(one.count) for one in (used.average if used else None) or [] if one.name == "gpuutil"]
    gathered = _is_gathered(steps)
    return JobUse(
        cpu_seconds=seconds if gathered else None,
        memory_mib=-(-memory // MIB) if gathered and memory else None,
        gpu_percent=max(busy, default=None),
    )


def steps_of(steps: list[Step], exit_code: Callable[[bytes, str], ExitCode | None]) -> tuple[PastStep, ...]:
    """Each step; of very many the first and the last."""
    gathered = _is_gathered(steps)
    if len(steps) > FIRST_STEPS + LAST_STEPS:
        steps = [*steps[:FIRST_STEPS], *steps[-LAST_STEPS:]]
    return tuple(_step(step, gathered, exit_code) for step in steps)


def _step(step: Step, gathered: bool, exit_code: Callable[[bytes, str], ExitCode | None]) -> PastStep:
    time, named = step.time or Time(), step.step or _Name()
    state, _ = main_state(words(step.state))
    memory = _memory(step)
    return PastStep(
        step=_word(named.id),
        name=named.name or "",
        state=state,
        exit_code=exit_code(bytes(step.exit_code), state),
        node_count=count(step.nodes.count) if step.nodes else 0,
        tasks=count(step.tasks.count) if step.tasks else 0,
        start_time=moment(time.start),
        end_time=moment(time.end),
        elapsed=count(time.elapsed),
        cpu_seconds=_seconds(step) if gathered else None,
        memory_mib=-(-memory // MIB) if memory else None,
    )


def _word(told: object) -> str:
    """ "14.batch" and "batch" are one; so are 0 and "14.0"."""
    return str(told).rpartition(".")[2][:40] if isinstance(told, (str, int)) else ""


def _is_gathered(steps: list[Step]) -> bool:
    return any(_seconds(step) > 0 or _memory(step) > 0 for step in steps)


def _seconds(step: Step) -> float:
    total = step.time.total if step.time else None
    return count(total.seconds) + count(total.microseconds) / 1_000_000 if total else 0.0


def _memory(step: Step) -> int:
    """Bytes: the most that one of its tasks held."""
    used = step.tres.requested if step.tres else None
    return amount((used.max if used else None) or [], "mem")
