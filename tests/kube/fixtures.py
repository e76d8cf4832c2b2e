"""The session's API server. Imported by tests/conftest.py, so what is heavy is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kube.platform_proxy import PlatformProxy
    from tests.kube.server import KubeServer


@pytest.fixture(scope="session")
def kube_server() -> Iterator[KubeServer]:
    """A real etcd and kube-apiserver with every CRD of tests/kube/crds; one per worker."""
    with running_server() as running:
        yield running


@contextmanager
def running_server() -> Iterator[KubeServer]:
    """Such a server, for what would be in others' way on that of the worker."""
    from tests.kube import assets, crds, server  # noqa: PLC0415

    programs = assets.programs()
    running = server.KubeServer(programs)
    try:
        running.start(crds.store(programs))
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def platform(kube_server: KubeServer) -> Iterator[PlatformProxy]:
    """The vCluster Platform in front of the session's API server."""
    from tests.kube.platform_proxy import PlatformProxy  # noqa: PLC0415

    proxy = PlatformProxy(kube_server)
    yield proxy
    proxy.close()
