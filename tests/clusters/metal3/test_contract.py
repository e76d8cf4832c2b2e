"""The contract of all drivers, kept by the machines step on Metal3, with hosts and with claims."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.clients.kube.client import KubeClient
from portal.lib.errors import TemporaryError
from tests.cases import case
from tests.clusters.metal3.subject import Metal3Subject
from tests.contract.driver_contract import MOST_POINTS, DriverContract, drive_away, settle
from tests.contract.kube.clients import Counting, Died, Dying, Failing, Losing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("kube"),
    case("U38"),
]


class Metal3Contract(DriverContract):
    """With deaths and faults at each call of the client, since a real server is at the other end."""

    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    def test_a_crash_at_any_effect_is_found_again(self, subject: Metal3Subject, after: bool) -> None:  # type: ignore[override]
        for point in range(1, MOST_POINTS):
            died = dies(subject, subject.step.apply, at=point, after=after)
            settle(subject.step, subject.ctx)
            assert len(subject.inventory()) == 2, f"died at change {point}"
            if not died:
                assert point > 1
                return
            drive_away(subject.step, subject.ctx)
            subject.fresh()
        raise AssertionError("apply has more effects than the test looks at")

    def test_a_crash_in_remove_is_finished_later(self, subject: Metal3Subject) -> None:  # type: ignore[override]
        for point in range(1, MOST_POINTS):
            settle(subject.step, subject.ctx)
            died = dies(subject, subject.step.remove, at=point, after=True)
            drive_away(subject.step, subject.ctx)
            assert subject.inventory() == {}, f"died at change {point}"
            if not died:
                return
            subject.fresh()
        raise AssertionError("remove has more effects than the test looks at")

    def test_a_lost_answer_makes_nothing_twice(self, subject: Metal3Subject) -> None:
        losing = Losing(subject.access)
        with_client(subject, losing)
        settle(subject.step, subject.ctx)
        assert len(subject.inventory()) == 2
        drive_away(subject.step, subject.ctx)
        assert losing.lost > 1
        assert subject.inventory() == {}

    def test_what_was_not_read_as_a_whole_is_not_gone(self, subject: Metal3Subject) -> None:
        settle(subject.step, subject.ctx)
        counting = Counting(subject.access)
        with_client(subject, counting)
        assert subject.step.observe(subject.ctx).ready
        assert counting.reads == (2 if subject.metal3.claims else 1)  # one list per kind
        assert counting.changes == 0
        for point in range(1, counting.reads + 1):
            with_client(subject, Failing(subject.access, at=point))
            with pytest.raises(TemporaryError):
                subject.step.observe(subject.ctx)


class TestHosts(Metal3Contract):
    """machines, by the hosts themselves"""

    @pytest.fixture
    def subject(self, hosts: Metal3Subject) -> Metal3Subject:
        """A cluster without machines."""
        return hosts


class TestClaims(Metal3Contract):
    """machines, by claims on hosts"""

    @pytest.fixture
    def subject(self, claims: Metal3Subject) -> Metal3Subject:
        """A cluster without machines."""
        return claims


def with_client(subject: Metal3Subject, client: KubeClient) -> None:
    """Let the step speak through another client."""
    subject.clients = lambda: client


def dies(subject: Metal3Subject, verb: Callable[..., None], *, at: int, after: bool) -> bool:
    """Run a verb whose worker dies at its n-th change; False if it ended before."""
    usual = subject.clients
    with_client(subject, Dying(subject.access, at=at, after=after))
    try:
        verb(subject.ctx)
    except Died:
        return True
    except TemporaryError:
        return False
    finally:
        subject.clients = usual
    return False
