"""Limits: wanted by admins, told to Slurm by a worker as the administrator, and seen to be there."""

from __future__ import annotations

import pytest
from django.test import Client

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.past import AssociationLimits
from clusters.models import Cluster, SlurmIdentity
from clusters.provisioning.context import cluster_spec
from jobs.limits import service
from jobs.limits.models import LimitState, SlurmLimit
from portal.lib import clock
from portal.lib.errors import NotAllowed, NotVisible, WrongState
from tenants.models import AuditEvent, Tenant, User
from tests.builders import actor_for, make_tenant, sign_in
from tests.clusters.builders import owner_of
from tests.jobs.builders import identity_for, keep_books, make_slurm_cluster
from tests.jobs.history.books import FakeBooks, install

pytestmark = pytest.mark.django_db


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> FakeBooks:
    keep_books(cluster)
    return install(monkeypatch)


@pytest.fixture
def account(cluster: Cluster, alice: User) -> SlurmIdentity:
    return identity_for(cluster, alice)


def wish(tenant: Tenant, cluster: Cluster, account: SlurmIdentity, **limits: int | None) -> SlurmLimit:
    """An owner's."""
    actor = actor_for(owner_of(tenant), tenant)
    assert account.membership_id is not None
    return service.set_limits(actor=actor, cluster=cluster, member=account.membership_id, limits=limits)


def test_a_wish_reaches_slurm_and_is_seen_there(
    tenant: Tenant, cluster: Cluster, account: SlurmIdentity, books: FakeBooks
) -> None:
    row = wish(tenant, cluster, account, gpus=4, running_jobs=2)
    assert (row.state, books.limits) == (LimitState.WANTED, {})  # no request waits for slurmdbd
    service.apply(row.pk)
    row.refresh_from_db()
    assert row.state == LimitState.SET
    assert books.limits[account.name] == AssociationLimits(
        account=tenant.slug, cluster=cluster.external_name, user=account.name, gpus=4, running_jobs=2
    )
    assert books.asked_as == ["administrator"]
    event = AuditEvent.objects.get(verb="limits.changed")
    assert event.detail == {"gpus": 4, "running_jobs": 2, "submitted_jobs": None, "wall_minutes": None}
    service.apply(row.pk)
    assert books.asked_as == ["administrator"]  # nothing to do


def test_slurm_holds_to_limits_from_the_first_wish_on(
    tenant: Tenant, cluster: Cluster, account: SlurmIdentity, books: FakeBooks
) -> None:
    assert not cluster_spec(cluster).enforces_limits
    before = Cluster.objects.get(pk=cluster.pk).generation
    wish(tenant, cluster, account, gpus=1)
    after = Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)
    assert cluster_spec(after).enforces_limits
    assert after.generation == before + 1
    wish(tenant, cluster, account, gpus=None)
    assert Cluster.objects.get(pk=cluster.pk).generation == before + 1


def test_what_slurm_does_not_take_is_told_and_tried_again(
    tenant: Tenant,
    cluster: Cluster,
    account: SlurmIdentity,
    books: FakeBooks,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = wish(tenant, cluster, account, gpus=1)
    books.refusal = errors.NotReachable("The cluster's slurmdbd does not answer.")
    service.apply(row.pk)
    row.refresh_from_db()
    assert (row.state, row.message, row.failures) == (LimitState.FAILED, str(books.refusal), 1)
    assert row.next_at is not None
    assert row.next_at > clock.now()
    books.refusal = None
    # 22.05 says yes to who may not: only a look tells
    monkeypatch.setattr(books, "set_limits", lambda limits: None)
    service.apply(row.pk)
    row.refresh_from_db()
    assert (row.state, row.message) == (LimitState.FAILED, service.NOT_TAKEN)
    monkeypatch.undo()


def test_a_change_during_the_telling_is_told_next(
    tenant: Tenant,
    cluster: Cluster,
    account: SlurmIdentity,
    books: FakeBooks,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = wish(tenant, cluster, account, gpus=1)
    told = FakeBooks.set_limits

    def slow(self: FakeBooks, limits: AssociationLimits) -> None:
        told(self, limits)
        monkeypatch.setattr(FakeBooks, "set_limits", told)
        wish(tenant, cluster, account, gpus=2)

    monkeypatch.setattr(FakeBooks, "set_limits", slow)
    service.apply(row.pk)
    row.refresh_from_db()
    assert row.state == LimitState.WANTED
    service.apply(row.pk)
    assert books.limits[account.name].gpus == 2


def test_members_do_not_set_limits_and_strangers_see_none(
    tenant: Tenant, cluster: Cluster, account: SlurmIdentity, alice: User, books: FakeBooks
) -> None:
    def as_(user: User, where: Tenant) -> None:
        actor = actor_for(user, where)
        assert account.membership_id is not None
        service.set_limits(actor=actor, cluster=cluster, member=account.membership_id, limits={"gpus": 1})

    with pytest.raises(NotAllowed):
        as_(alice, tenant)
    other = make_tenant("Boreas")
    with pytest.raises(NotVisible):
        as_(owner_of(other), other)
    assert not SlurmLimit.objects.exists()
    as_(owner_of(tenant), tenant)
    # somebody else's member has no account here
    foreign = identity_for(make_slurm_cluster(other, name="gpu-b"), owner_of(other))
    with pytest.raises(NotVisible):
        wish(tenant, cluster, foreign, gpus=1)


def test_without_accounting_there_is_nothing_to_set(
    tenant: Tenant, cluster: Cluster, account: SlurmIdentity, client: Client
) -> None:
    with pytest.raises(WrongState):
        wish(tenant, cluster, account, gpus=1)
    sign_in(client, owner_of(tenant))
    page = client.get(f"/t/aurora-lab/clusters/{cluster.pk}/limits/").content.decode()
    assert "no accounting" in page


def test_the_pages(
    tenant: Tenant, cluster: Cluster, account: SlurmIdentity, alice: User, books: FakeBooks, client: Client
) -> None:
    base = f"/t/aurora-lab/clusters/{cluster.pk}/limits/"
    sign_in(client, alice)
    assert "Change" not in client.get(base).content.decode().partition("<main")[2].partition("</main")[0]
    sign_in(client, owner_of(tenant))
    page = client.get(base).content.decode()
    assert str(alice) in page
    assert "no limit" in page
    refused = client.post(f"{base}{account.membership_id}/", {"gpus": "-1"})
    assert refused.status_code == 400
    assert (
        client.post(f"{base}{account.membership_id}/", {"gpus": "0", "running_jobs": ""}).status_code == 302
    )
    row = SlurmLimit.objects.get()
    assert (row.gpus, row.running_jobs) == (0, None)
    page = client.get(base).content.decode()
    assert "Being set" in page
    assert '<td class="num" data-label="GPUs">0</td>' in page


def test_one_who_left_is_not_told_of(
    tenant: Tenant, cluster: Cluster, account: SlurmIdentity, books: FakeBooks
) -> None:
    row = wish(tenant, cluster, account, gpus=1)
    SlurmIdentity.objects.filter(pk=account.pk).update(active=False)
    service.apply(row.pk)
    assert books.asked_as == []
