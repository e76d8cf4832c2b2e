"""Kubeconfigs: issued with the member's role, listed, revoked, and gone with the membership."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterator

import pytest
import time_machine
import yaml
from django.test import Client
from django.urls import reverse

from clusters import kubeconfigs as shown
from clusters.clients.kube.errors import NotReachable
from clusters.clients.kube.models import Access
from clusters.kube.tenant import KEPT_AS, pack
from clusters.models import Cluster, KubeAccount, KubeconfigGrant, KubeRole
from clusters.services import kubeconfigs, secrets
from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, NotVisible, WrongState
from tenants.hooks import tell_tenant_changed
from tenants.models import AuditEvent, Membership, Role, Tenant, User
from tenants.rights import Action
from tenants.scoping import get_visible
from tenants.services import members
from tests.builders import actor_for, make_member, make_tenant, make_user, sign_in
from tests.cases import case
from tests.clusters import kubes
from tests.clusters.builders import make_cluster, owner_of
from tests.clusters.kubes import MemoryKube

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant("Aurora", owner=make_user("Ada"))


@pytest.fixture
def cluster(tenant: Tenant) -> Cluster:
    return kubes.make_kube_cluster(tenant)


@pytest.fixture
def kube() -> Iterator[MemoryKube]:
    with kubes.answering() as played:
        yield played


def issue(cluster: Cluster, user: User, hours: int = 8) -> kubeconfigs.Kubeconfig:
    return kubeconfigs.issue(actor=actor_for(user, cluster.tenant), cluster=cluster, hours=hours)


def rights(kube: MemoryKube) -> set[tuple[str, str]]:
    """Namespace ("" for all) and role of each binding."""
    bindings = [one for one in kube.objects.values() if one["kind"].endswith("RoleBinding")]
    assert {one["subjects"][0]["name"] for one in bindings} <= set(kube.names("ServiceAccount"))
    return {(one["metadata"].get("namespace", ""), one["roleRef"]["name"]) for one in bindings}


@pytest.mark.parametrize(
    ("role", "bound"),
    [
        (Role.VIEWER, "view"),
        (Role.MEMBER, "edit"),
        (Role.ADMIN, "cluster-admin"),
        (Role.OWNER, "cluster-admin"),
    ],
)
def test_a_kubeconfig_has_the_role_of_its_person(
    cluster: Cluster, kube: MemoryKube, role: Role, bound: str
) -> None:
    made = issue(cluster, make_member(cluster.tenant, role))
    assert made.grant.role == bound
    everywhere = "view" if bound == "edit" else bound
    assert rights(kube) == {("", everywhere), *({("default", "edit")} if bound == "edit" else ())}
    assert kube.names("ServiceAccount") == [made.grant.account.name]


def test_who_may_edit_may_do_so_in_new_namespaces_but_never_in_ours(
    cluster: Cluster, kube: MemoryKube
) -> None:
    made = issue(cluster, make_member(cluster.tenant, Role.MEMBER))
    kube.namespaces.append("training")
    later = clock.now() + dt.timedelta(minutes=2)
    assert kubeconfigs.due(later) == [made.grant.account_id]
    kubeconfigs.follow(made.grant.account_id)
    assert rights(kube) == {("", "view"), ("default", "edit"), ("training", "edit")}
    assert kubeconfigs.due(clock.now()) == []


def test_the_file_names_the_server_with_its_ca_and_holds_a_token_that_hangs_on_a_secret(
    cluster: Cluster, kube: MemoryKube
) -> None:
    made = issue(cluster, owner_of(cluster.tenant))
    config = yaml.safe_load(made.content)
    server = config["clusters"][0]["cluster"]
    assert server["server"] == kubes.SERVER
    assert base64.b64decode(server["certificate-authority-data"]) == kubes.CA
    assert config["users"][0]["user"] == {"token": f"token.{made.grant.account.name}"}
    assert config["current-context"] == cluster.name
    spec = kube.asked[0]["spec"]
    (secret,) = [one for one in kube.objects.values() if one["kind"] == "Secret"]
    assert spec["boundObjectRef"]["uid"] == secret["metadata"]["uid"]
    assert spec["expirationSeconds"] == 8 * 3600
    assert made.grant.expires_at is not None
    assert made.grant.expires_at < clock.now() + dt.timedelta(hours=8)  # what the server gave


def test_nothing_of_the_token_is_stored_and_issue_and_revoke_are_in_the_trail(
    cluster: Cluster, kube: MemoryKube
) -> None:
    made = issue(cluster, owner_of(cluster.tenant))
    actor = actor_for(owner_of(cluster.tenant), cluster.tenant)
    assert kubeconfigs.revoke(actor=actor, grant=made.grant)
    rows = list(AuditEvent.objects.filter(verb__startswith="kubeconfig.").order_by("pk"))
    assert [row.verb for row in rows] == ["kubeconfig.issued", "kubeconfig.revoked"]
    assert {row.detail["kubeconfig"] for row in rows} == {str(made.grant.pk)}
    assert rows[0].detail["kubernetes_role"] == "cluster-admin"
    assert "token." not in repr([row.detail for row in rows])
    assert "token." not in repr(KubeconfigGrant.objects.values().get())
    with pytest.raises(WrongState, match="revoked already"):
        kubeconfigs.revoke(actor=actor, grant=made.grant)


def test_revoking_one_leaves_the_others(cluster: Cluster, kube: MemoryKube) -> None:
    user = owner_of(cluster.tenant)
    first, second = issue(cluster, user), issue(cluster, user)
    kubeconfigs.revoke(actor=actor_for(user, cluster.tenant), grant=first.grant)
    assert kube.names("Secret") == [second.grant.secret]
    states = {row.pk: shown.state_of(row) for row in KubeconfigGrant.objects.all()}
    assert states == {first.grant.pk: "revoked", second.grant.pk: "works"}


def test_a_revoke_that_meets_no_answer_is_done_later(cluster: Cluster, kube: MemoryKube) -> None:
    user = owner_of(cluster.tenant)
    made = issue(cluster, user)
    kube.is_down = True
    assert not kubeconfigs.revoke(actor=actor_for(user, cluster.tenant), grant=made.grant)
    made.grant.refresh_from_db()
    assert shown.state_of(made.grant) == "revoking"
    kube.is_down = False
    later = clock.now() + dt.timedelta(minutes=10)
    assert kubeconfigs.due(later) == [made.grant.account_id]
    kubeconfigs.follow(made.grant.account_id)
    assert kube.names("Secret") == []
    assert kubeconfigs.due(later - dt.timedelta(minutes=9)) == []


def test_others_kubeconfigs_are_for_who_manages_people(cluster: Cluster, kube: MemoryKube) -> None:
    member, viewer = make_member(cluster.tenant, Role.MEMBER), make_member(cluster.tenant, Role.VIEWER)
    made = issue(cluster, member)
    assert list(shown.shown(actor_for(viewer, cluster.tenant), cluster)) == []
    with pytest.raises(NotAllowed):
        kubeconfigs.revoke(actor=actor_for(viewer, cluster.tenant), grant=made.grant)
    admin = actor_for(make_member(cluster.tenant, Role.ADMIN), cluster.tenant)
    assert list(shown.shown(admin, cluster)) == [made.grant]
    assert kubeconfigs.revoke(actor=admin, grant=made.grant)


def test_who_leaves_loses_the_account_and_every_token(cluster: Cluster, kube: MemoryKube) -> None:
    member = make_member(cluster.tenant, Role.MEMBER)
    made = issue(cluster, member)
    membership = Membership.objects.get(user=member, tenant=cluster.tenant)
    owner = actor_for(owner_of(cluster.tenant), cluster.tenant)
    members.suspend_member(actor=owner, membership=membership)
    made.grant.refresh_from_db()
    assert made.grant.revoked_at is not None
    assert kubeconfigs.due(clock.now()) == [made.grant.account_id]
    kubeconfigs.follow(made.grant.account_id)
    assert kube.objects == {}
    made.grant.refresh_from_db()
    assert shown.state_of(made.grant) == "revoked"
    members.resume_member(actor=owner, membership=membership)
    assert issue(cluster, member).grant.account == made.grant.account


def test_a_suspended_tenant_loses_every_account(cluster: Cluster, kube: MemoryKube) -> None:
    owner, member = owner_of(cluster.tenant), make_member(cluster.tenant, Role.MEMBER)
    issue(cluster, owner)
    issue(cluster, member)
    cluster.tenant.suspended_at = clock.now()
    cluster.tenant.save()
    tell_tenant_changed(cluster.tenant)
    for account in kubeconfigs.due(clock.now()):
        kubeconfigs.follow(account)
    assert kube.objects == {}
    assert not KubeconfigGrant.objects.filter(gone_at=None).exists()


def test_with_the_cluster_go_its_kubeconfigs_and_our_access(cluster: Cluster, kube: MemoryKube) -> None:
    made = issue(cluster, owner_of(cluster.tenant))
    kubeconfigs.cluster_gone(cluster)
    made.grant.refresh_from_db()
    assert shown.state_of(made.grant) == "revoked"
    assert kubeconfigs.due(clock.now() + dt.timedelta(days=1)) == []
    with pytest.raises(WrongState, match="no API server"):
        issue(cluster, owner_of(cluster.tenant))


def test_another_role_is_bound_without_a_new_kubeconfig(cluster: Cluster, kube: MemoryKube) -> None:
    admin = make_member(cluster.tenant, Role.ADMIN)
    made = issue(cluster, admin)
    membership = Membership.objects.get(user=admin, tenant=cluster.tenant)
    owner = actor_for(owner_of(cluster.tenant), cluster.tenant)
    members.change_role(actor=owner, membership=membership, role=Role.VIEWER)
    assert rights(kube) == {("", "cluster-admin")}
    kubeconfigs.follow(made.grant.account_id)
    assert rights(kube) == {("", "view")}
    assert kube.names("Secret") == [made.grant.secret]


def test_a_grant_taken_back_while_it_is_made_is_not_handed_out(
    cluster: Cluster, kube: MemoryKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = make_member(cluster.tenant, Role.MEMBER)
    membership = Membership.objects.get(user=member, tenant=cluster.tenant)
    owner = actor_for(owner_of(cluster.tenant), cluster.tenant)
    post = kube.post

    def leave_meanwhile(*args: object) -> object:
        members.suspend_member(actor=owner, membership=membership)
        return post(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(kube, "post", leave_meanwhile)
    with pytest.raises(WrongState, match="changed meanwhile"):
        issue(cluster, member)
    kubeconfigs.follow(KubeAccount.objects.get().pk)
    assert kube.objects == {}
    assert not AuditEvent.objects.filter(verb="kubeconfig.issued").exists()


def test_without_an_answer_nothing_is_issued_and_nothing_stays(cluster: Cluster, kube: MemoryKube) -> None:
    kube.is_down = True
    with pytest.raises(NotReachable):
        issue(cluster, owner_of(cluster.tenant))
    kube.is_down = False
    (account,) = KubeAccount.objects.all()
    assert kubeconfigs.due(clock.now()) == [account.pk]
    kubeconfigs.follow(account.pk)
    assert list(shown.shown(actor_for(owner_of(cluster.tenant), cluster.tenant), cluster)) == []


def test_what_expired_is_cleaned_up(cluster: Cluster, kube: MemoryKube) -> None:
    made = issue(cluster, make_member(cluster.tenant, Role.MEMBER), hours=1)
    assert kubeconfigs.due(clock.now()) == []
    with time_machine.travel(clock.now() + dt.timedelta(hours=2)):
        assert kubeconfigs.due(clock.now()) == [made.grant.account_id]
        kubeconfigs.follow(made.grant.account_id)
        assert kubeconfigs.due(clock.now()) == []
    assert kube.names("Secret") == []


def test_an_admin_is_told_what_outlives_a_revoke(cluster: Cluster, kube: MemoryKube) -> None:
    for kind, name in (("ServiceAccount", "backdoor"), ("ClusterRoleBinding", "backdoor-admin")):
        kube.objects[name] = {"kind": kind, "metadata": {"name": name, "namespace": "default"}}
    issue(cluster, owner_of(cluster.tenant))
    page = _page(cluster, owner_of(cluster.tenant))
    assert "default/backdoor" in page
    assert "backdoor-admin" in page
    assert "outlive a revoke" in page
    member = _page(cluster, make_member(cluster.tenant, Role.MEMBER))
    assert "backdoor" not in member


def test_the_download_is_a_file_that_nobody_caches(cluster: Cluster, kube: MemoryKube) -> None:
    browser = sign_in(Client(), owner_of(cluster.tenant))
    url = reverse("kubeconfig-issue", args=[cluster.tenant.slug, cluster.pk])
    answer = browser.post(url, {"hours": "24"})
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/yaml"
    assert "no-store" in answer["Cache-Control"]
    assert 'filename="kube-a.kubeconfig.yaml"' in answer["Content-Disposition"]
    assert yaml.safe_load(answer.content)["kind"] == "Config"
    kube.is_down = True
    failed = browser.post(url, {"hours": "24"})
    assert failed.status_code == 503
    assert failed["Content-Type"].startswith("text/html")
    assert browser.post(url, {"hours": "9999"}).status_code == 400


@case("U34")
def test_holders_of_files_with_an_old_ca_are_told(cluster: Cluster, kube: MemoryKube) -> None:
    user = owner_of(cluster.tenant)
    old = issue(cluster, user)
    assert "Outdated" not in _page(cluster, user)
    rotated = Access(kubes.SERVER, kubes.CA.replace(b"TUlJQg", b"TUlJQw"), token="ours")
    secrets.keep(cluster, KEPT_AS, pack(rotated), None)
    new = issue(cluster, user)
    assert base64.b64encode(rotated.ca_pem) in new.content
    rows = shown.shown(actor_for(user, cluster.tenant), cluster)
    assert {row.pk: shown.state_of(row) for row in rows} == {
        old.grant.pk: "outdated",
        new.grant.pk: "works",
    }
    page = _page(cluster, user)
    assert "Outdated" in page
    assert "download a new one" in page


@case("U34")
def test_many_downloads_leave_no_heap_of_credentials(cluster: Cluster, kube: MemoryKube) -> None:
    user = owner_of(cluster.tenant)
    made = [issue(cluster, user) for _ in range(kubeconfigs.MOST_AT_ONCE)]
    with pytest.raises(WrongState, match="20 kubeconfigs"):
        issue(cluster, user)
    assert len(kube.names("Secret")) == len(made)
    kubeconfigs.revoke(actor=actor_for(user, cluster.tenant), grant=made[0].grant)
    assert issue(cluster, user).content


def test_it_is_refused_where_it_would_not_work(cluster: Cluster, kube: MemoryKube) -> None:
    user = owner_of(cluster.tenant)
    assert issue(cluster, user).content
    with pytest.raises(BadInput):
        issue(cluster, user, hours=5)
    cluster.site.drivers = {**cluster.site.drivers, "control_plane": "vcluster_platform"}
    with pytest.raises(WrongState, match="no public address"):
        issue(cluster, user)
    cluster.wanted = False
    with pytest.raises(WrongState, match="being removed"):
        issue(cluster, user)
    stranger = actor_for(make_user("Olga"))
    with pytest.raises(NotVisible):
        get_visible(KubeconfigGrant.objects.all(), stranger, KubeconfigGrant.objects.first().pk, Action.VIEW)  # type: ignore[union-attr]


def test_a_page_without_a_control_plane_says_why(tenant: Tenant) -> None:
    page = _page(make_cluster(tenant), owner_of(tenant))
    assert "no Kubernetes control plane" in page
    assert "Download kubeconfig" not in page


def test_roles_are_those_of_kubernetes() -> None:
    assert set(kubeconfigs.ROLES) == set(Role)
    assert {str(role) for role in KubeRole} == {"view", "edit", "cluster-admin"}


def _page(cluster: Cluster, user: User) -> str:
    url = reverse("cluster-access", args=[cluster.tenant.slug, cluster.pk])
    answer = sign_in(Client(), user).get(url)
    assert answer.status_code == 200
    return answer.content.decode()
