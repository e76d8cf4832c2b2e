"""The contract of all drivers, kept by each local step with real daemons."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cases import case
from tests.clusters.drivers import subjects
from tests.clusters.drivers.lab import Lab
from tests.contract.driver_contract import DriverContract, Subject, settle

pytestmark = [pytest.mark.slow, case("U38")]


class TestMachines(DriverContract):
    """machines"""

    @pytest.fixture
    def subject(self, lab: Lab) -> Subject:
        """A cluster without machines."""
        return subjects.MachinesSubject(lab)


class TestFabric(DriverContract):
    """fabric"""

    @pytest.fixture
    def subject(self, lab: Lab) -> Subject:
        """A cluster with machines and no VPC."""
        return subjects.FabricSubject(lab)


class TestSlurm(DriverContract):
    """slurm"""

    @pytest.fixture
    def subject(self, lab: Lab) -> Subject:
        """A cluster without Slurm."""
        return subjects.SlurmSubject(lab)


class TestIdentity(DriverContract):
    """identity"""

    @pytest.fixture
    def subject(self, lab: Lab) -> Iterator[Subject]:
        """A Slurm cluster without accounts."""
        subject = subjects.IdentitySubject(lab)
        yield subject
        subject.clean()


class TestSmoke(DriverContract):
    """smoke"""

    @pytest.fixture
    def subject(self, lab: Lab) -> Subject:
        """A Slurm cluster with accounts, of which nothing is shown yet."""
        return subjects.SmokeSubject(lab)

    def test_a_namesake_without_our_mark_is_left_alone(self, subject: Subject) -> None:
        look = subject.impostor()
        settle(subject.step, subject.ctx)
        assert look() in {"PENDING", "RUNNING"}
