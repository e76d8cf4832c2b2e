"""The isolation step under the contract, beside a neighbour that never answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from clusters.clients.kube.models import Access
from clusters.drivers.isolation import Around, IsolationStep, Neighbour
from clusters.drivers.isolation.api_server import ACCOUNT
from clusters.drivers.isolation.record import KEPT_AS
from clusters.kube import tenant
from clusters.provisioning.steps import StepContext
from tests.contract.driver_contract import WatchingContract
from tests.contract.kube.driven import spec_of
from tests.kube import roles
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]


@dataclass
class Tried:
    """A cluster with an API server of its own; see Subject."""

    server: KubeServer
    step: IsolationStep
    ctx: StepContext

    def inventory(self) -> dict[str, object]:
        """The account with which it is tried."""
        found = self.server.client.get(ACCOUNT)
        return {str(ACCOUNT): found["metadata"]["uid"]} if found else {}

    def damage(self) -> None:
        """Nothing is known any more."""
        self.ctx.keep(KEPT_AS, b"", None)


class TestIsolation(WatchingContract):
    """What cannot be tried is said, and holds nobody up."""

    @pytest.fixture
    def subject(self, kube_server: KubeServer) -> Iterator[Tried]:
        kube_server.ensure_namespace(ACCOUNT.namespace)
        own = roles.access(kube_server, "tenant")
        silent = Neighbour("c-silent", Access("https://127.0.0.1:9", own.ca_pem))
        secrets = {tenant.KEPT_AS: tenant.pack(own)}
        ctx = StepContext(spec_of(), facts={"control-plane": {}}, secrets=secrets)
        keep = dataclasses.replace(ctx, keep=lambda name, value, _: secrets.update({name: value}))
        yield Tried(kube_server, IsolationStep(lambda _: Around((silent,))), keep)
        Hands(kube_server.client).release(ACCOUNT)

    def test_its_account_is_made_by_an_apply_and_by_no_look(self, subject: Tried) -> None:
        seen = subject.step.observe(subject.ctx)
        assert (seen.exists, seen.reason, subject.inventory()) == (False, "ProbeMissing", {})
        subject.step.apply(subject.ctx)
        assert subject.inventory()
        assert subject.step.observe(subject.ctx).ready
