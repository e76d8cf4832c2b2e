"""The contract of all drivers, kept by the fabric step on Netris."""

from __future__ import annotations

import pytest

from tests.cases import case
from tests.clusters.netris.server import FakeNetris
from tests.clusters.netris.subject import FabricSubject
from tests.contract.driver_contract import DriverContract, Subject

pytestmark = [pytest.mark.slow, case("U38")]


class TestFabric(DriverContract):
    """fabric"""

    @pytest.fixture
    def subject(self, netris: FakeNetris) -> Subject:
        """A cluster without a fabric."""
        return FabricSubject(netris)
