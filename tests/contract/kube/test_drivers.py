"""The contract over every driver of tests/contract/kube/drivers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.kube.contract import KubeContract
from tests.contract.kube.driven import Driven, every_driven
from tests.contract.kube.subject import KubeSubject
from tests.kube import roles
from tests.kube.platform_proxy import PlatformProxy
from tests.kube.server import KubeServer
from tests.kube.tidy import clear_tenant

pytestmark = [pytest.mark.slow]
# two workers, each with an API server of its own
EACH = [
    pytest.param(driven, id=driven.id, marks=pytest.mark.xdist_group(f"kube-{number % 2}"))
    for number, driven in enumerate(one for one in every_driven() if not one.variant)
]


@pytest.fixture(scope="class", params=EACH)
def place(
    request: pytest.FixtureRequest, kube_server: KubeServer, platform: PlatformProxy
) -> Iterator[KubeSubject]:
    """A step with its vendors at work, and a cluster."""
    driven: Driven = request.param
    access = roles.access(kube_server, driven.role)
    if driven.platform:
        access = platform.access(access.token)
    one = KubeSubject(kube_server, driven, access)
    with one.vendors:
        yield one
        one.sweep()
    clear_tenant(kube_server)


class TestKubernetesDrivers(KubeContract):
    """Each step of each profile."""

    @pytest.fixture
    def subject(self, place: KubeSubject, request: pytest.FixtureRequest) -> Iterator[KubeSubject]:
        """The same for all promises; a fresh cluster after one that was broken or that brought strangers."""
        failed = request.session.testsfailed
        yield place
        place.vendors.check()
        if request.session.testsfailed > failed or place.strangers:
            place.fresh()
