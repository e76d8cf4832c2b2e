"""A site of four hosts in a namespace of its own, with Metal3 at work."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tests.clusters.drivers.lab import until
from tests.clusters.metal3.ironic import Metal3
from tests.clusters.metal3.subject import Metal3Subject
from tests.kube import roles
from tests.kube.server import KubeServer
from tests.kube.vendors import Running


def site(server: KubeServer, *, claims: bool) -> Iterator[Metal3Subject]:
    """A subject on a new site, under exactly the rights of deploy/rbac."""
    name = f"metal3-{secrets.token_hex(4)}"
    metal3 = Metal3(name, f"{name}-claims" if claims else "")
    for namespace in filter(None, (metal3.namespace, metal3.claims)):
        server.ensure_namespace(namespace)
    subject = Metal3Subject(server, roles.access(server, "control-plane"), metal3)
    for number in range(1, 5):
        metal3.add_host(subject.hands, f"gpu-{number}")
    with Running(server.client, [metal3]):
        until(lambda: all(subject.state(f"gpu-{number}") == "available" for number in range(1, 5)))
        yield subject
        metal3.errors.clear()
        metal3.held.clear()


@pytest.fixture
def hosts(kube_server: KubeServer) -> Iterator[Metal3Subject]:
    """The step on hosts."""
    yield from site(kube_server, claims=False)


@pytest.fixture
def claims(kube_server: KubeServer) -> Iterator[Metal3Subject]:
    """The step on claims."""
    yield from site(kube_server, claims=True)


@pytest.fixture(params=[False, True], ids=["hosts", "claims"])
def either(request: pytest.FixtureRequest, kube_server: KubeServer) -> Iterator[Metal3Subject]:
    """Both, one after the other."""
    yield from site(kube_server, claims=request.param)
