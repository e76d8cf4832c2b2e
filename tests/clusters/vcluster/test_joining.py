"""An operator is shown the command by which machines join; the trail says so, and never what it was."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from clusters.clients.kube.models import Ref
from clusters.drivers.vcluster_platform.kinds import INSTANCE
from clusters.kube import objects
from clusters.models import Cluster
from clusters.services.secrets import set_site_secret
from tenants.models import AuditEvent
from tests.builders import make_tenant
from tests.clusters import fakes
from tests.clusters.builders import approved_order, make_site, operator
from tests.kube import roles
from tests.kube.platform_proxy import PlatformProxy
from tests.kube.server import KubeServer

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.xdist_group("kube")]


def shown(cluster: Cluster) -> str:
    """What the command prints."""
    out = StringIO()
    call_command("join_command", cluster.tenant.slug, cluster.name, stdout=out)
    return out.getvalue()


def test_the_command_is_printed_and_its_showing_noted(
    kube_server: KubeServer, platform: PlatformProxy, tmp_path: Path
) -> None:
    fakes.install(tmp_path)
    try:
        site = make_site()
        cluster = approved_order(make_tenant(), site).cluster
    finally:
        fakes.uninstall()
    assert cluster is not None
    with pytest.raises(CommandError):
        shown(cluster)  # its machines are nobody's to join
    site.drivers = {**site.drivers, "control_plane": "vcluster_platform"}
    authority = kube_server.authority.certificate.decode()
    site.settings = {
        "platform": {"server": platform.url, "ca": authority},
        "vcluster_platform": {"template": "gpu-slurm"},
    }
    site.save()
    token = roles.access(kube_server, "control-plane").token.encode()
    set_site_secret(actor=operator(), site=site, name="platform-access-key", value=token)
    with pytest.raises(CommandError):
        shown(cluster)  # the Platform has no such instance
    name = cluster.external_name
    kube_server.ensure_namespace(f"p-{name}")
    made = objects.manifest(INSTANCE, name, {"spec": {}}, namespace=f"p-{name}")
    kube_server.client.apply(made, INSTANCE)
    assert not AuditEvent.objects.filter(verb="cluster.join_shown").exists()
    told = shown(cluster)
    assert told.startswith("curl ")
    event = AuditEvent.objects.get(verb="cluster.join_shown")
    assert "t0k3n" in told
    assert "t0k3n" not in str(event.detail)
    with pytest.raises(CommandError):
        call_command("join_command", cluster.tenant.slug, "nothing")
    found = kube_server.client.get(Ref(INSTANCE, name, f"p-{name}"))
    assert found is not None
    kube_server.client.delete(Ref(INSTANCE, name, f"p-{name}"), uid=found["metadata"]["uid"])
