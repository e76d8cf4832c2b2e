"""Accounts follow who is a member: made, switched off, never given out again."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.conf import settings
from django.test import Client

from clusters.models import Cluster, IdentityKind, SlurmIdentity, StepState
from clusters.provisioning import engine
from clusters.provisioning.context import cluster_spec
from clusters.services.clusters import terminate_cluster
from tenants.hooks import Account, accounts_of
from tenants.models import Membership, Role, Tenant
from tenants.services import access
from tenants.services.members import change_role, remove_member, resume_member, suspend_member
from tenants.services.ssh_keys import set_keys
from tests.builders import actor_for, make_member, sign_in
from tests.clusters.builders import make_cluster, make_site, operator, owner_of
from tests.clusters.fakes import World, read
from tests.tenants.routes import SSH_KEY

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(tenant: Tenant, world: World) -> Cluster:
    found = make_cluster(tenant, make_site())
    engine.reconcile(found.pk)
    return Cluster.objects.get(pk=found.pk)


def identity(cluster: Cluster, membership: Membership) -> SlurmIdentity | None:
    return SlurmIdentity.objects.filter(cluster=cluster, membership=membership).first()


def join(tenant: Tenant, role: str) -> Membership:
    """Through the hook that the command of joining calls."""
    from tenants.hooks import tell_membership_changed  # noqa: PLC0415

    membership = Membership.objects.get(tenant=tenant, user=make_member(tenant, role))
    tell_membership_changed(membership)
    return membership


def test_names_and_ids_are_ours(cluster: Cluster) -> None:
    rows = list(SlurmIdentity.objects.filter(cluster=cluster))
    assert {row.kind for row in rows} == {IdentityKind.MEMBER, IdentityKind.OBSERVER}
    for row in rows:
        assert re.fullmatch(r"fh[a-z2-7]{12}", row.name)
        assert row.uid >= settings.LOCAL_UID_BASE
        assert row.gid == cluster.gid


def test_ssh_keys_of_a_member_reach_the_members_account_and_leave_with_it(
    cluster: Cluster, tenant: Tenant
) -> None:
    def published() -> dict[str, tuple[str, ...]]:
        return {one.name: one.keys for one in cluster_spec(cluster).accounts if one.keys}

    membership = join(tenant, Role.MEMBER)
    before = Cluster.objects.get(pk=cluster.pk).generation
    actor = actor_for(membership.user, tenant)
    set_keys(actor=actor, text=SSH_KEY)
    mine = identity(cluster, membership)
    assert mine is not None
    assert published() == {mine.name: (" ".join(SSH_KEY.split()[:2]),)}
    assert Cluster.objects.get(pk=cluster.pk).generation == before + 1
    set_keys(actor=actor, text=f"# the same\n{SSH_KEY}")
    assert Cluster.objects.get(pk=cluster.pk).generation == before + 1
    suspend_member(actor=actor_for(owner_of(tenant), tenant), membership=membership)
    assert published() == {}


def test_a_new_member_gets_an_account_soon(cluster: Cluster, tenant: Tenant, world: World) -> None:
    member = join(tenant, Role.MEMBER)
    found = identity(cluster, member)
    assert found is not None
    row = Cluster.objects.get(pk=cluster.pk)
    assert row.generation == cluster.generation + 1
    assert row.next_reconcile_at is not None
    assert row.phase == "ready"  # following a change is no degradation
    engine.reconcile(cluster.pk)
    outside = read(world.thing("identity", cluster.external_name))
    assert [found.name, True] in outside["wanted"]["accounts"]
    row.refresh_from_db()
    assert row.observed_generation == row.generation
    steps = StepState.objects.filter(cluster=cluster)
    assert {step.generation for step in steps} == {row.generation}


def test_a_viewer_gets_none(cluster: Cluster, tenant: Tenant) -> None:
    assert identity(cluster, join(tenant, Role.VIEWER)) is None
    assert Cluster.objects.get(pk=cluster.pk).generation == cluster.generation


def test_who_leaves_is_switched_off_and_keeps_the_id(cluster: Cluster, tenant: Tenant) -> None:
    member = join(tenant, Role.MEMBER)
    before = identity(cluster, member)
    assert before is not None
    remove_member(actor=actor_for(owner_of(tenant), tenant), membership=member)
    after = identity(cluster, member)
    assert after is not None
    assert (after.active, after.uid, after.name) == (False, before.uid, before.name)
    uids = set(SlurmIdentity.objects.values_list("uid", flat=True))
    again = join(tenant, Role.MEMBER)
    fresh = identity(cluster, again)
    assert fresh is not None
    assert fresh.uid not in uids


def test_a_change_of_role_switches_the_same_account(cluster: Cluster, tenant: Tenant) -> None:
    member = join(tenant, Role.MEMBER)
    owner = actor_for(owner_of(tenant), tenant)
    for role, active in ((Role.VIEWER, False), (Role.ADMIN, True)):
        change_role(actor=owner, membership=Membership.objects.get(pk=member.pk), role=role)
        found = identity(cluster, member)
        assert found is not None
        assert found.active is active


def test_who_is_suspended_is_switched_off_and_on_again(cluster: Cluster, tenant: Tenant) -> None:
    member = join(tenant, Role.MEMBER)
    owner, staff = actor_for(owner_of(tenant), tenant), operator()

    def is_active() -> bool:
        found = identity(cluster, member)
        assert found is not None
        return found.active

    def fresh() -> Membership:
        return Membership.objects.select_related("tenant", "user").get(pk=member.pk)

    assert is_active()
    ways: list[tuple[Callable[[], object], Callable[[], object]]] = [
        (
            lambda: suspend_member(actor=owner, membership=fresh()),
            lambda: resume_member(actor=owner, membership=fresh()),
        ),
        (
            lambda: access.suspend_person(actor=staff, person=fresh().user, reason="x"),
            lambda: access.resume_person(actor=staff, person=fresh().user, reason="x"),
        ),
        (
            lambda: access.suspend_tenant(actor=staff, tenant=fresh().tenant, reason="x"),
            lambda: access.resume_tenant(actor=staff, tenant=fresh().tenant, reason="x"),
        ),
    ]
    for out, back in ways:
        before = Cluster.objects.get(pk=cluster.pk).generation
        out()
        assert not is_active()
        assert Cluster.objects.get(pk=cluster.pk).generation == before + 1
        back()
        assert is_active()
    observer = SlurmIdentity.objects.get(cluster=cluster, kind=IdentityKind.OBSERVER)
    assert observer.active


def test_the_members_list_shows_working_accounts(cluster: Cluster, tenant: Tenant) -> None:
    member, viewer = join(tenant, Role.MEMBER), join(tenant, Role.VIEWER)
    found = accounts_of([member.pk, viewer.pk])
    mine = identity(cluster, member)
    assert mine is not None
    assert found == {member.pk: [Account(cluster.name, mine.name)]}
    page = sign_in(Client(), owner_of(tenant)).get(f"/t/{tenant.slug}/members/").content.decode()
    assert mine.name in page
    remove_member(actor=actor_for(owner_of(tenant), tenant), membership=member)
    assert accounts_of([member.pk]) == {}


def test_a_removed_cluster_is_left_alone(cluster: Cluster, tenant: Tenant) -> None:
    actor = actor_for(owner_of(tenant), tenant)
    terminate_cluster(actor=actor, cluster=cluster, typed_name=cluster.name, at_once=True)
    engine.reconcile(cluster.pk)
    assert Cluster.objects.get(pk=cluster.pk).phase == "deleted"
    assert identity(cluster, join(tenant, Role.MEMBER)) is None
    assert not SlurmIdentity.objects.filter(cluster=cluster, active=True).exists()
