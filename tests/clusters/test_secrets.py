"""Credentials: sealed at rest, there for the steps that need them, told to nobody."""

from __future__ import annotations

import datetime as dt
import io
import sys

import pytest
from django.core.management import CommandError, call_command

from clusters.models import Cluster, ClusterSecret, SiteSecret
from clusters.provisioning.context import step_context
from clusters.provisioning.keeping import keeping
from clusters.provisioning.lease import LeaseLost, claim
from clusters.services.wake import wake
from portal.lib import clock
from tenants.models import AuditEvent
from tests.builders import make_tenant
from tests.clusters.builders import make_cluster, make_site
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db
VALUE = b"correct horse battery staple"


@pytest.fixture
def cluster(world: World) -> Cluster:
    return make_cluster(make_tenant(), make_site())


def put(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, name: str, value: bytes) -> str:
    class Stdin:
        buffer = io.BytesIO(value + b"\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    out = io.StringIO()
    call_command("site_secret", cluster.site.slug, name, stdout=out)
    return out.getvalue()


def test_a_sites_credential_reaches_its_steps_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    said = put(monkeypatch, cluster, "netris-password", VALUE)
    ctx = step_context(cluster)
    assert ctx.secrets["site.netris-password"] == VALUE
    row = SiteSecret.objects.get()
    audit = AuditEvent.objects.get(verb="site.secret_set")
    assert audit.detail == {"name": "netris-password"}
    for told in (said, repr(ctx), str(row), bytes(row.sealed).decode(errors="replace")):
        assert VALUE.decode() not in told
    put(monkeypatch, cluster, "netris-password", b"another")
    assert step_context(cluster).secrets["site.netris-password"] == b"another"
    assert SiteSecret.objects.count() == 1


@pytest.mark.parametrize("value", [b"", b"x" * 70_000])
def test_what_is_no_credential_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, cluster: Cluster, value: bytes
) -> None:
    put(monkeypatch, cluster, "netris-password", VALUE)
    with pytest.raises(CommandError, match="Nothing was changed"):
        put(monkeypatch, cluster, "netris-password", value)
    assert step_context(cluster).secrets["site.netris-password"] == VALUE


def test_what_a_step_keeps_is_there_for_later_steps_and_later_passes(cluster: Cluster) -> None:
    wake(cluster)
    lease = claim(cluster.pk)
    assert lease is not None
    ctx = keeping(step_context(cluster), lease)
    ends = clock.now() + dt.timedelta(hours=1)
    ctx.keep("tenant-token", VALUE, ends)
    assert ctx.secrets["tenant-token"] == VALUE
    assert step_context(cluster).secrets["tenant-token"] == VALUE
    row = ClusterSecret.objects.get()
    assert row.expires_at == ends
    assert VALUE not in bytes(row.sealed)


def test_a_stale_worker_keeps_nothing(cluster: Cluster) -> None:
    lease = claim(cluster.pk)
    assert lease is not None
    ctx = keeping(step_context(cluster), lease)
    Cluster.objects.filter(pk=cluster.pk).update(lease_epoch=lease.epoch + 1)
    with pytest.raises(LeaseLost):
        ctx.keep("tenant-token", VALUE, None)
    assert not ClusterSecret.objects.exists()


def test_clusters_do_not_share_what_they_keep(cluster: Cluster, world: World) -> None:
    other = make_cluster(make_tenant("Lab South"), make_site("Site South"))
    lease = claim(cluster.pk)
    assert lease is not None
    keeping(step_context(cluster), lease).keep("tenant-token", VALUE, None)
    assert "tenant-token" in step_context(cluster).secrets
    assert "tenant-token" not in step_context(other).secrets
