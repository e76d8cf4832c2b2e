"""The contract of all drivers, with what only a Kubernetes driver can break.

The promises of one step are looked at on one cluster, one after the other and in any order: a test that
needs a cluster of which nothing exists makes a fresh one, the others go on with what the last one left.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator

import pytest
import yaml

from clusters.clients.kube.client import KubeClient
from clusters.provisioning import looks
from portal.lib.errors import PermanentError, TemporaryError
from tests.contract.driver_contract import MOST_POINTS, DriverContract, drive_away, settle, shape, shapes_of
from tests.contract.kube.clients import Counting, Died, Dying, Failing, Losing
from tests.contract.kube.subject import KubeSubject

STUCK = "example.com/stuck"


class KubeContract(DriverContract):
    """Runs under the rights of deploy/rbac and no others."""

    def test_nothing_is_absent(self, subject: KubeSubject) -> None:  # type: ignore[override]
        subject.fresh()
        super().test_nothing_is_absent(subject)

    def test_remove_leaves_nothing_and_may_be_repeated(self, subject: KubeSubject) -> None:  # type: ignore[override]
        subject.fresh()
        super().test_remove_leaves_nothing_and_may_be_repeated(subject)

    def test_a_crash_at_any_effect_is_found_again(self, subject: KubeSubject) -> None:  # type: ignore[override]
        """For each point one life of a cluster whose worker dies there when it makes and when it removes.

        What a worker leaves that dies just before its third change is sent is what one leaves that dies just
        after the second was taken. So the latter are played, and once the death before the first.
        """
        subject.fresh()
        settle(subject.step, subject.ctx)
        whole = shape(subject)
        for point in range(MOST_POINTS):
            subject.fresh()
            died = dies(subject, subject.step.apply, at=point)
            settle(subject.step, subject.ctx)
            assert shape(subject) == whole, f"died after change {point} of apply"
            died |= dies(subject, subject.step.remove, at=point)
            drive_away(subject.step, subject.ctx)
            assert subject.inventory() == {}, f"died after change {point} of remove"
            if not died:
                assert point > 1
                return
        raise AssertionError("the step has more effects than the test looks at")

    test_a_crash_in_remove_is_finished_later = None  # type: ignore[assignment]  # in the lives above

    def test_a_changed_spec_is_drift_and_is_followed(self, subject: KubeSubject) -> None:  # type: ignore[override]
        if not subject.driven.fixed:
            super().test_a_changed_spec_is_drift_and_is_followed(subject)
            return
        settle(subject.step, subject.ctx)
        before = subject.inventory()
        seen = settle(subject.step, subject.changed())
        assert (seen.in_sync, seen.differences) == (True, ())
        assert subject.inventory() == before

    def test_a_lost_answer_makes_nothing_twice(self, subject: KubeSubject) -> None:
        subject.fresh()
        losing = Losing(subject.access)
        with using(subject, losing):
            settle(subject.step, subject.ctx)
            once = subject.inventory()
            drive_away(subject.step, subject.ctx)
        assert losing.lost > 1
        assert len(once) == len(subject.wanted())
        assert subject.inventory() == {}

    def test_what_was_not_read_as_a_whole_is_not_gone(self, subject: KubeSubject) -> None:
        counting = look_at_ready(subject)
        for point in range(1, counting.reads + 1):
            with using(subject, Failing(subject.access, at=point)), pytest.raises(TemporaryError):
                subject.step.observe(subject.ctx)

    def test_a_look_at_a_ready_cluster_costs_one_list_a_scope(self, subject: KubeSubject) -> None:
        counting = look_at_ready(subject)
        assert counting.reads <= len(subject.scopes()) + subject.driven.looks
        assert counting.changes == 0

    def test_what_a_look_has_listed_is_not_listed_again_to_change_it(self, subject: KubeSubject) -> None:
        subject.fresh()
        counting = Counting(subject.access)
        with using(subject, counting):
            looks.forward(subject.step, subject.ctx)
        assert 0 < counting.lists <= len(subject.scopes()) + subject.driven.looks
        assert counting.changes > 0
        settle(subject.step, subject.ctx)

    def test_a_namesake_that_comes_after_the_look_is_left_alone(self, subject: KubeSubject) -> None:
        settle(subject.step, subject.ctx)
        drive_away(subject.step, subject.ctx)
        at_once = dataclasses.replace(subject.ctx, passed_on={})
        assert subject.step.observe(at_once).exists is False
        stranger = subject.impostor()
        before = stranger()
        with pytest.raises(PermanentError) as refused:
            subject.step.apply(at_once)
        assert refused.value.reason == "NameTaken"
        look = looks.forward(subject.step, subject.ctx)
        assert (look.trouble, look.reason) == (looks.Trouble.PERMANENT, "NameTaken")
        assert stranger() == before

    def test_a_field_changed_by_hand_is_shown_and_mended(self, subject: KubeSubject) -> None:
        settle(subject.step, subject.ctx)
        before, spoilt = subject.inventory(), 0
        for one in subject.wanted():
            path = subject.spoil(one)
            if not path:
                continue
            spoilt += 1
            seen = subject.step.observe(subject.ctx)
            assert (seen.exists, seen.in_sync, seen.reason) == (True, False, "Drift"), one.ref
            assert [(found.thing, found.path) for found in seen.differences] == [(str(one.ref), path)]
            assert seen.differences[0].wanted != seen.differences[0].found or path.startswith(one.hidden)
            subject.step.apply(subject.ctx)
            assert subject.step.observe(subject.ctx).in_sync
        assert bool(spoilt) is not subject.driven.immutable
        settle(subject.step, subject.ctx)
        assert subject.inventory() == before

    def test_what_is_not_wanted_any_more_goes(self, subject: KubeSubject) -> None:
        changed = subject.changed()
        settle(subject.step, changed)
        settle(subject.step, subject.ctx)
        assert set(subject.inventory()) == {str(one.ref) for one in subject.wanted()}

    def test_a_finalizer_that_hangs_is_named_with_its_age(self, subject: KubeSubject) -> None:
        settle(subject.step, subject.ctx)
        ref = next(one.ref for one in reversed(subject.wanted()) if not one.kept)
        subject.hold(ref, STUCK)
        subject.step.remove(subject.ctx)
        end = time.monotonic() + 60
        while STUCK not in (seen := subject.step.observe(subject.ctx)).message:  # others may go first
            assert time.monotonic() < end, seen
        assert (seen.exists, seen.ready, seen.reason) == (True, False, "Finalizer")
        assert str(ref) in seen.message
        assert "less than a minute" in seen.message
        subject.hands.release(ref)
        drive_away(subject.step, subject.ctx)
        assert subject.inventory() == {}

    def test_the_preview_says_what_an_apply_would_do(self, subject: KubeSubject) -> None:
        subject.fresh()
        before = subject.objects.preview(subject.ctx)
        assert [change.thing for change in before] == [str(one.ref) for one in subject.wanted()]
        assert {change.action for change in before} == {"create"}
        for change in before:
            assert yaml.safe_load(change.text)["kind"] in change.thing
            assert not change.text.startswith("#"), change.text
            for secret in subject.ctx.secrets.values():
                assert not [form for form in shapes_of(secret) if form in change.text]
        assert subject.inventory() == {}
        settle(subject.step, subject.ctx)
        assert subject.objects.preview(subject.ctx) == ()
        after = subject.objects.preview(subject.changed())
        assert bool(after) is not subject.driven.fixed
        assert all(change.differences for change in after if change.action == "change")


def look_at_ready(subject: KubeSubject) -> Counting:
    """What one look at a ready cluster costs. A vendor that looks again at the last change is waited for."""
    end = time.monotonic() + 60
    while True:
        settle(subject.step, subject.ctx)
        counting = Counting(subject.access)
        with using(subject, counting):
            if subject.step.observe(subject.ctx).ready:
                return counting
        assert time.monotonic() < end, "it does not stay ready"


def dies(subject: KubeSubject, verb: Callable[..., None], *, at: int) -> bool:
    """Run a verb whose worker dies just after its n-th change, 0: before any. False if it ended earlier."""
    with using(subject, Dying(subject.access, at=at or 1, after=at > 0)):
        try:
            verb(subject.ctx)
        except Died:
            return True
        except TemporaryError:
            return False
    return False


@contextlib.contextmanager
def using(subject: KubeSubject, client: KubeClient) -> Iterator[None]:
    """Let the step speak through another client."""
    usual, subject.clients = subject.clients, lambda: client
    try:
        yield
    finally:
        subject.clients = usual
        client.close()
