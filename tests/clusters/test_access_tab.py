"""The Access tab: asks before a kubeconfig is revoked, and is told of what is handed out and taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from clusters import kubeconfigs as shown
from clusters import live
from clusters.models import Cluster
from clusters.services import kubeconfigs
from tenants.live.topics import version_of
from tenants.models import Membership, Role, User
from tenants.services import members
from tests.builders import actor_for, make_member, make_tenant, make_user, sign_in
from tests.clusters import kubes
from tests.clusters.builders import owner_of
from tests.clusters.kubes import MemoryKube

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return kubes.make_kube_cluster(make_tenant("Aurora", owner=make_user("Ada")))


@pytest.fixture
def kube() -> Iterator[MemoryKube]:
    with kubes.answering() as played:
        yield played


def issue(cluster: Cluster, user: User) -> kubeconfigs.Kubeconfig:
    return kubeconfigs.issue(actor=actor_for(user, cluster.tenant), cluster=cluster, hours=8)


def test_a_revoke_is_asked_about_first(cluster: Cluster, kube: MemoryKube) -> None:
    user = owner_of(cluster.tenant)
    made = issue(cluster, user)
    browser, url = sign_in(Client(), user), _revoke_url(made)
    assert url in _page(cluster, user)
    asked = browser.get(url)
    assert asked.status_code == 200
    assert made.grant.account.name in asked.content.decode()
    made.grant.refresh_from_db()
    assert made.grant.revoked_at is None
    assert browser.post(url).status_code == 302
    assert browser.get(url).status_code == 409
    other = make_member(cluster.tenant, Role.MEMBER)
    assert sign_in(Client(), other).get(_revoke_url(issue(cluster, user))).status_code == 403


def test_the_tab_is_told_of_what_is_handed_out_and_taken_back(cluster: Cluster, kube: MemoryKube) -> None:
    topic, user = live.access(cluster.tenant_id, cluster.pk), owner_of(cluster.tenant)
    empty = _region(cluster, user)
    assert "None was issued yet." in empty
    seen = [version_of(topic)]
    made = issue(cluster, user)
    seen.append(version_of(topic))
    assert "Works" in _region(cluster, user)
    kubeconfigs.revoke(actor=actor_for(user, cluster.tenant), grant=made.grant)
    seen.append(version_of(topic))
    assert "Revoked" in _region(cluster, user)
    leaver = make_member(cluster.tenant, Role.MEMBER)
    issue(cluster, leaver)
    seen.append(version_of(topic))
    members.remove_member(
        actor=actor_for(user, cluster.tenant), membership=Membership.objects.get(user=leaver)
    )
    seen.append(version_of(topic))
    assert seen == sorted(set(seen))
    region = _region(cluster, user)
    assert "hx-preserve" in region  # the form that is there stays
    assert "<form" not in region  # a socket has no token for one


def test_what_a_leaver_made_inside_is_looked_for_at_once(cluster: Cluster, kube: MemoryKube) -> None:
    leaver = make_member(cluster.tenant, Role.ADMIN)
    made = issue(cluster, leaver)
    before = cluster.kube_survey.seen_at
    kube.objects["theirs"] = {
        "kind": "ServiceAccount",
        "metadata": {"name": "backdoor", "namespace": "default", "uid": "1"},
    }
    members.remove_member(
        actor=actor_for(owner_of(cluster.tenant), cluster.tenant),
        membership=Membership.objects.get(user=leaver),
    )
    kubeconfigs.follow(made.grant.account_id)
    cluster.kube_survey.refresh_from_db()
    assert cluster.kube_survey.seen_at > before
    assert cluster.kube_survey.accounts == ["default/backdoor"]


def test_lifetimes_read_as_people_say_them() -> None:
    assert [shown.lifetime(hours) for hours in kubeconfigs.HOURS] == [
        "1 hour",
        "8 hours",
        "24 hours",
        "7 days",
    ]


def _revoke_url(made: kubeconfigs.Kubeconfig) -> str:
    return reverse("kubeconfig-revoke", args=[made.grant.cluster.tenant.slug, made.grant.pk])


def _region(cluster: Cluster, user: User) -> str:
    url = reverse("live", args=[cluster.tenant.slug, "cluster-access", cluster.pk])
    answer = sign_in(Client(), user).get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def _page(cluster: Cluster, user: User) -> str:
    url = reverse("cluster-access", args=[cluster.tenant.slug, cluster.pk])
    answer = sign_in(Client(), user).get(url)
    assert answer.status_code == 200
    return answer.content.decode()
