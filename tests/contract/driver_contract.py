"""What a driver's steps promise, run against each of them: subclass a contract, give it a subject."""

from __future__ import annotations

import base64
import dataclasses
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import pytest

from clusters.provisioning.steps import Observed, Step, StepContext
from portal.lib.errors import OutsideError, PermanentError, TemporaryError

# what a step does to the outside, as Python announces it just before
EFFECTS = frozenset({"subprocess.Popen", "os.rename", "os.link", "http.client.send"})
MOST_POINTS = 60


class Subject(Protocol):
    """One step with a cluster of which nothing exists yet, and ways to disturb it."""

    step: Step
    ctx: StepContext

    def inventory(self) -> dict[str, object]:
        """All that the outside holds of the cluster; empty when nothing does."""

    def damage(self) -> None:
        """Change the outside behind the driver's back."""

    def changed(self) -> StepContext:
        """The same cluster with a spec that wants more or other things of this step."""

    def impostor(self) -> Callable[[], object]:
        """Put something of the same name and without our mark there; returns a way to look at it."""

    def fresh(self) -> None:
        """Start over with another cluster."""


class StepContract:
    """The promises of clusters.provisioning.steps.Step that every step can make."""

    def test_the_plan_says_what_will_be_made(self, subject: Subject) -> None:
        lines = subject.step.describe(subject.ctx.spec)
        assert lines
        assert all(line.strip() and "\n" not in line for line in lines)
        assert not any(subject.ctx.spec.title in line for line in lines)

    def test_apply_twice_equals_once(self, subject: Subject) -> None:
        settle(subject.step, subject.ctx)
        once = subject.inventory()
        subject.step.apply(subject.ctx)
        settle(subject.step, subject.ctx)
        assert once
        assert subject.inventory() == once

    def test_no_secret_is_told(self, subject: Subject) -> None:
        told = [repr(subject.step), repr(subject.ctx), repr(subject.step.describe(subject.ctx.spec))]
        told.append(repr(subject.step.observe(subject.ctx)))
        told.append(repr(settle(subject.step, subject.ctx, told)))
        subject.damage()
        told.append(repr(subject.step.observe(subject.ctx)))
        for secret in subject.ctx.secrets.values():
            for shape_of_it in shapes_of(secret):
                assert not [text for text in told if shape_of_it in text]


class FollowingContract(StepContract):
    """Those of a step that keeps the outside as the spec wants it."""

    def test_drift_is_seen_and_mended(self, subject: Subject) -> None:
        settle(subject.step, subject.ctx)
        before = sorted(subject.inventory())
        subject.damage()
        seen = subject.step.observe(subject.ctx)
        assert not (seen.in_sync and seen.ready)
        settle(subject.step, subject.ctx)
        assert sorted(subject.inventory()) == before

    def test_a_changed_spec_is_drift_and_is_followed(self, subject: Subject) -> None:
        settle(subject.step, subject.ctx)
        before = subject.inventory()
        changed = subject.changed()
        seen = subject.step.observe(changed)
        assert seen.exists
        assert not seen.in_sync
        assert seen.reason
        settle(subject.step, changed)
        assert subject.inventory() != before
        settle(subject.step, subject.ctx)


class WatchingContract(StepContract):
    """Those of a step of which nothing is left when the cluster is gone; it is told so by its own facts."""

    def test_it_never_holds_up_a_removal_and_removes_nothing(self, subject: Subject) -> None:
        settle(subject.step, subject.ctx)
        before = subject.inventory()
        going = dataclasses.replace(subject.ctx, facts={**subject.ctx.facts, subject.step.name: {}})
        for _ in range(2):
            subject.step.remove(going)
            assert subject.step.observe(going).exists is False
        assert subject.inventory() == before


class DriverContract(FollowingContract):
    """Those of a step that makes things and removes them."""

    points: Iterable[int] = range(1, MOST_POINTS)  # effects at which a worker is killed

    def test_nothing_is_absent(self, subject: Subject) -> None:
        assert subject.step.observe(subject.ctx).exists is False
        assert subject.inventory() == {}

    def test_remove_leaves_nothing_and_may_be_repeated(self, subject: Subject) -> None:
        subject.step.remove(subject.ctx)
        settle(subject.step, subject.ctx)
        assert subject.inventory()
        drive_away(subject.step, subject.ctx)
        assert subject.inventory() == {}
        subject.step.remove(subject.ctx)
        assert subject.step.observe(subject.ctx).exists is False

    def test_a_crash_at_any_effect_is_found_again(self, subject: Subject) -> None:
        subject.fresh()
        settle(subject.step, subject.ctx)
        whole = shape(subject)
        for point in self.points:
            drive_away(subject.step, subject.ctx)
            subject.fresh()
            killed = crash(lambda: subject.step.apply(subject.ctx), at=point)
            settle(subject.step, subject.ctx)
            assert shape(subject) == whole, f"killed at effect {point}"
            if not killed:
                assert point > 1
                return
        raise AssertionError("apply has more effects than the test looks at")

    def test_a_crash_in_remove_is_finished_later(self, subject: Subject) -> None:
        for point in self.points:
            settle(subject.step, subject.ctx)
            killed = crash(lambda: subject.step.remove(subject.ctx), at=point)
            drive_away(subject.step, subject.ctx)
            assert subject.inventory() == {}, f"killed at effect {point}"
            if not killed:
                return
            subject.fresh()
        raise AssertionError("remove has more effects than the test looks at")

    def test_a_namesake_without_our_mark_is_left_alone(self, subject: Subject) -> None:
        settle(subject.step, subject.ctx)
        drive_away(subject.step, subject.ctx)
        look = subject.impostor()
        before = look()
        assert subject.step.observe(subject.ctx).ready is False
        with pytest.raises(PermanentError) as refused:
            subject.step.apply(subject.ctx)
        assert refused.value.reason == "NameTaken"
        assert refused.value.hint
        subject.step.remove(subject.ctx)
        assert look() == before


def shape(subject: Subject) -> list[int]:
    """How much there is of each thing, whatever the cluster's name."""
    return sorted(len(value) if isinstance(value, list) else 1 for value in subject.inventory().values())


def shapes_of(secret: bytes) -> set[str]:
    """The forms in which a secret might be printed."""
    coded = base64.b64encode(secret).decode().rstrip("=")
    urlsafe = base64.urlsafe_b64encode(secret).decode().rstrip("=")
    return {secret.hex(), coded, urlsafe, repr(secret)[2:-1], secret.decode("latin-1")}


def settle(step: Step, ctx: StepContext, told: list[str] | None = None, *, seconds: float = 120) -> Observed:
    """What the engine does with one step until it is ready."""
    end = time.monotonic() + seconds
    pause = _pauses()
    while True:
        now = dataclasses.replace(ctx, passed_on={})  # the engine's three verbs in one go
        seen = _told(step.observe(now), told)
        if not (seen.exists and seen.in_sync) and _quietly(lambda: step.apply(now), told):  # noqa: B023
            seen = _told(step.observe(now), told)
        if seen.exists and seen.in_sync and seen.ready:
            return seen
        assert time.monotonic() < end, f"{step.name} is not ready: {seen}"
        time.sleep(next(pause))


def _told(seen: Observed, told: list[str] | None) -> Observed:
    if told is not None:
        told.append(repr(seen))
    return seen


def drive_away(step: Step, ctx: StepContext, *, seconds: float = 90) -> None:
    """What the engine does with one step until it is gone."""
    end = time.monotonic() + seconds
    pause = _pauses()
    while (seen := step.observe(ctx)).exists:
        assert time.monotonic() < end, f"{step.name} is not gone: {seen}"
        if not _quietly(lambda: step.remove(ctx), None):
            time.sleep(next(pause))


def _pauses() -> Iterator[float]:
    """Short ones first: most things come at once."""
    yield from (0.02, 0.04, 0.07)
    while True:
        yield 0.1


def _quietly(verb: Callable[[], None], told: list[str] | None) -> bool:
    try:
        verb()
    except TemporaryError as error:
        if told is not None:
            told.append(f"{error!r} {error.hint}")
        return False
    return True


def crash(verb: Callable[[], object], *, at: int) -> bool:
    """Run the verb in a child that is killed just before its n-th effect; False when it ended earlier."""
    child = os.fork()
    if child == 0:
        _die_at(at)
        code = 1
        try:
            verb()
            code = 0
        except OutsideError:
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the verb raised something unexpected"
    return os.WIFSIGNALED(status)


def _die_at(point: int) -> None:
    seen = 0

    def hook(event: str, _: tuple[object, ...]) -> None:
        nonlocal seen
        if event in EFFECTS:
            seen += 1
            if seen == point:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
