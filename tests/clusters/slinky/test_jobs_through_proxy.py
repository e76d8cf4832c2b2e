"""What pages and the observer do with a Slurm behind an API server: the same as with any other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusters.drivers.slinky.reach import Reach
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.kube import tenant
from clusters.models import Cluster, IdentityKind, Phase, SlurmEndpoint, SlurmIdentity
from clusters.provisioning.steps import StepContext
from clusters.services import secrets, slurm_access
from jobs import outside
from portal.lib.crypto import seal
from portal.lib.errors import TemporaryError
from tests.builders import make_tenant
from tests.clusters.builders import make_cluster
from tests.contract.kube.driven import spec_of
from tests.kube import roles
from tests.kube.server import KubeServer
from tests.kube.slurm_behind import NamespacedLab, slurm_behind

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.xdist_group("kube"),
]


@pytest.fixture(scope="module")
def slurm(kube_server: KubeServer) -> Iterator[NamespacedLab]:
    """Behind the session's API server."""
    with slurm_behind(kube_server) as lab:
        yield lab


@pytest.fixture
def cluster(kube_server: KubeServer, slurm: NamespacedLab) -> Cluster:
    """A ready cluster whose endpoint is behind the API server, and whose observer is an account there."""
    row = make_cluster(make_tenant(), phase=Phase.READY)
    kept = tenant.pack(roles.access(kube_server, "tenant"))
    secrets.keep(row, tenant.KEPT_AS, kept, None)
    url = Reach(SlinkySettings()).url(StepContext(spec=spec_of(), secrets={tenant.KEPT_AS: kept}))
    SlurmEndpoint.objects.filter(cluster=row).update(
        url=url, api_version="v0.0.38", sealed_jwt_key=seal(slurm.key)
    )
    SlurmIdentity.objects.filter(cluster=row, kind=IdentityKind.OBSERVER).update(name=slurm.members[0].name)
    return row


def test_the_portal_looks_at_jobs_and_nodes_with_its_credential_in_the_cluster(cluster: Cluster) -> None:
    observer = SlurmIdentity.objects.get(cluster=cluster, kind=IdentityKind.OBSERVER)
    with outside.gateway_for(observer) as gateway:
        assert gateway.diag().req_time > 0
        assert len(gateway.nodes()) == 2
        assert gateway.jobs() is not None


def test_the_credential_goes_to_no_other_address(cluster: Cluster) -> None:
    endpoint = SlurmEndpoint.objects.get(cluster=cluster)
    path = endpoint.url.split("/api/", 1)[1]
    for other in (f"https://127.0.0.1:9/api/{path}", "http://127.0.0.1:9"):
        endpoint.url = other
        session = slurm_access.session_for(endpoint, timeout=2)
        assert type(session).__name__ == "Outside"
        with pytest.raises(TemporaryError):
            session.send("GET", "/", headers={})
