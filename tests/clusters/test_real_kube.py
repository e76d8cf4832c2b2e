"""Approved orders with real control planes: kubectl with a downloaded kubeconfig, two tenants, a revoke."""

from __future__ import annotations

import base64
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from clusters.kube import kinds, objects
from clusters.models import (
    Allocation,
    Cluster,
    KubeconfigGrant,
    Order,
    OrderState,
    Phase,
    Site,
    StepState,
    StepStatus,
)
from clusters.services.clusters import retry, terminate_cluster
from tenants.models import Role, Tenant, User
from tests.builders import actor_for, make_member, make_tenant, sign_in
from tests.cases import case
from tests.clusters.builders import approved_order, make_flavor, make_site, operator, owner_of
from tests.clusters.drivers.lab import Lab, free_ids, open_lab, until
from tests.clusters.test_real_build import reconcile_until
from tests.fixtures.ports import free_block
from tests.kube import assets

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
REVOKED_WITHIN = 60.0  # seconds


@pytest.fixture
def lab(settings: Settings) -> Iterator[Lab]:
    """A data folder, ids and ports of this test's own, enough for two clusters."""
    opened = open_lab()
    ports = free_block(200)
    settings.DATA_FOLDER = opened.settings.data
    settings.LOCAL_PORTS = f"{ports.start}-{ports.stop - 1}"
    settings.LOCAL_UID_BASE = free_ids(40)
    yield opened
    opened.close()


@pytest.fixture
def site() -> Site:
    """A local site with control planes."""
    flavor = make_flavor("a100-2", gpus=2, cpus=4, memory_mib=8000)
    made = make_site(machines=4, flavor=flavor, driver="local")
    made.drivers = {**made.drivers, "control_plane": "local"}
    made.save()
    return made


def build(tenant: Tenant, site: Site) -> Cluster:
    """A cluster of two nodes, all of its steps ready."""
    cluster = approved_order(tenant, site, nodes=2).cluster
    assert cluster is not None
    reconcile_until(cluster, is_whole)
    return Cluster.objects.get(pk=cluster.pk)


def is_whole(cluster: Cluster) -> bool:
    """Every step is ready, those too that jobs do not wait for."""
    steps = StepState.objects.filter(cluster=cluster)
    return cluster.phase == Phase.READY and not steps.exclude(status=StepStatus.READY).exists()


def download(cluster: Cluster, folder: Path, user: User | None = None) -> Path:
    """The file that the owner's browser gets, or another member's."""
    user = user or owner_of(cluster.tenant)
    browser = sign_in(Client(), user)
    answer = browser.post(reverse("kubeconfig-issue", args=[cluster.tenant.slug, cluster.pk]), {"hours": "8"})
    assert answer.status_code == 200, answer.content
    path = folder / f"{cluster.tenant.slug}-{user.pk}.yaml"
    path.write_bytes(answer.content)
    return path


def kubectl(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The real program, with nothing but the downloaded file."""
    return subprocess.run(
        [str(assets.programs()["kubectl"]), "--kubeconfig", str(config), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"HOME": str(config.parent)},
    )


def can(config: Path, *asked: str) -> bool:
    """What the server says that this kubeconfig may do."""
    return kubectl(config, "auth", "can-i", *asked).stdout.strip() == "yes"


def access(config: Path, *, token_of: Path | None = None) -> Access:
    """The access that a file gives, with the token of another one."""
    content = yaml.safe_load(config.read_bytes())
    server = content["clusters"][0]["cluster"]
    user = yaml.safe_load((token_of or config).read_bytes())["users"][0]["user"]
    return Access(
        server["server"], base64.b64decode(server["certificate-authority-data"]), token=user["token"]
    )


@case("U38")
def test_kubectl_lists_exactly_the_orders_machines_and_no_other_tenant_gets_in(
    lab: Lab, site: Site, tmp_path: Path
) -> None:
    assets.link(lab.settings.programs)
    one, other = build(make_tenant("Aurora"), site), build(make_tenant("Boreas"), site)
    mine, theirs = download(one, tmp_path), download(other, tmp_path)
    for cluster, config in ((one, mine), (other, theirs)):
        done = kubectl(config, "get", "nodes", "-o", "name")
        machines = Allocation.objects.filter(pool__cluster=cluster).values_list("machine__name", flat=True)
        assert sorted(done.stdout.split()) == sorted(f"node/{name}" for name in machines), done.stderr
    assert kubectl(mine, "auth", "can-i", "create", "namespaces").stdout.strip() == "yes"
    assert KubeClient(access(theirs)).version()
    with pytest.raises(errors.Unauthorized):
        KubeClient(access(theirs, token_of=mine)).version()

    browser = sign_in(Client(), owner_of(one.tenant))
    grant = KubeconfigGrant.objects.get(cluster=one)
    browser.post(reverse("kubeconfig-revoke", args=[one.tenant.slug, grant.pk]))
    began = time.monotonic()
    until(
        lambda: (
            "Unauthorized" in (done := kubectl(mine, "get", "nodes")).stderr or "logged in" in done.stderr
        ),
        seconds=REVOKED_WITHIN,
        what="the revoked token gets 401",
    )
    assert time.monotonic() - began < REVOKED_WITHIN
    assert kubectl(theirs, "get", "nodes").returncode == 0

    # the other cluster stands: what else must hold inside one is looked at there
    a_member_edits_and_cannot_become_somebody_else(other, theirs, tmp_path)
    its_controllers_do_their_work(theirs)
    what_an_admin_made_inside_is_listed(other, theirs, tmp_path)

    owner = actor_for(owner_of(one.tenant), one.tenant)
    terminate_cluster(actor=owner, cluster=one, typed_name=one.name, at_once=True)
    reconcile_until(one, lambda row: row.phase == Phase.DELETED)
    assert not list(lab.settings.data.glob(f"*/*{one.external_name}*"))


def what_an_admin_made_inside_is_listed(cluster: Cluster, admin: Path, tmp_path: Path) -> None:
    """On the page, from the next kubeconfig on."""
    client = KubeClient(access(admin))
    backdoor = objects.manifest(kinds.SERVICE_ACCOUNT, "backdoor", {}, namespace="default")
    until(lambda: client.apply(backdoor, kinds.SERVICE_ACCOUNT), what="rights have come")
    download(cluster, tmp_path)
    page = sign_in(Client(), owner_of(cluster.tenant)).get(
        reverse("cluster-access", args=[cluster.tenant.slug, cluster.pk])
    )
    assert "default/backdoor" in page.content.decode()


def a_member_edits_and_cannot_become_somebody_else(cluster: Cluster, admin: Path, tmp_path: Path) -> None:
    """What an admin may, who is all in all there."""
    owner, member = owner_of(cluster.tenant), make_member(cluster.tenant, Role.MEMBER)
    config = download(cluster, tmp_path, member)
    account = KubeconfigGrant.objects.get(account__membership__user=owner).account.name
    until(lambda: can(config, "create", "configmaps"), what="rights have come")
    assert can(admin, "create", "serviceaccounts/token", "-n", "freehold")
    assert can(admin, "impersonate", "serviceaccounts", "-n", "freehold")
    for asked in (
        ("create", "serviceaccounts/token", "-n", "freehold"),
        ("impersonate", "serviceaccounts", "-n", "freehold"),
        ("get", "secrets", "-n", "freehold"),
        ("create", "pods", "-n", "freehold"),
        ("get", "secrets", "-n", "kube-system"),
        ("create", "clusterrolebindings"),
    ):
        assert not can(config, *asked), asked
    assert can(config, "create", "serviceaccounts/token", "-n", "default")
    as_admin = f"--as=system:serviceaccount:freehold:{account}"
    refused = kubectl(config, "get", "nodes", as_admin)
    assert "cannot impersonate" in refused.stderr
    assert "forbidden" in kubectl(config, "create", "token", account, "-n", "freehold").stderr


def its_controllers_do_their_work(config: Path) -> None:
    """A namespace gets its account, is emptied when it goes, and roles hold what they gather."""
    until(lambda: kubectl(config, "create", "namespace", "short").returncode == 0, what="rights have come")
    until(
        lambda: "default" in kubectl(config, "get", "sa", "-n", "short").stdout, what="its account is there"
    )
    assert kubectl(config, "create", "configmap", "owner", "-n", "short").returncode == 0
    assert kubectl(config, "delete", "namespace", "short", "--timeout=50s").returncode == 0
    rules = kubectl(config, "get", "clusterrole", "edit", "-o", "jsonpath={.rules}").stdout
    assert "configmaps" in rules


def test_without_the_programs_jobs_run_and_the_page_says_what_is_missing(lab: Lab, site: Site) -> None:
    order = approved_order(make_tenant("Aurora"), site, nodes=2)
    cluster = order.cluster
    assert cluster is not None
    reconcile_until(cluster, lambda row: row.phase == Phase.DEGRADED)
    row = Cluster.objects.get(pk=cluster.pk)
    assert row.reason == "KubeAssetsMissing"
    assert row.ready_at is not None
    assert Order.objects.get(pk=order.pk).state == OrderState.FULFILLED
    smoke = StepState.objects.get(cluster=row, name="smoke")
    assert smoke.status == StepStatus.READY
    assert "Install Go" in StepState.objects.get(cluster=row, name="control-plane").hint

    assets.link(lab.settings.programs)
    retry(actor=operator(), cluster=row)
    reconcile_until(cluster, is_whole)
