"""Members: roles, leaving, and that a tenant keeps an owner."""

from __future__ import annotations

import pytest
from django.test import Client

from portal.lib.errors import BadInput, NotAllowed, NotVisible, WrongState
from tenants import hooks
from tenants.models import AuditEvent, Membership, Role, Tenant, User
from tenants.services import members
from tests.builders import actor_for, make_member, make_user, sign_in

pytestmark = pytest.mark.django_db


def row_of(person: User) -> Membership:
    return Membership.objects.get(user=person, ended_at=None)


def test_a_role_changes_and_the_hooks_are_told(
    ada: User, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, bool]] = []
    monkeypatch.setattr(
        hooks, "membership_changed", [lambda row: told.append((row.role, row.ended_at is not None))]
    )
    rui = make_member(tenant, Role.VIEWER)
    members.change_role(actor=actor_for(ada, tenant), membership=row_of(rui), role=Role.MEMBER)
    assert actor_for(rui, tenant).role == "member"
    event = AuditEvent.objects.get(verb="member.role_changed")
    assert (event.detail["old"], event.detail["new"]) == ("viewer", "member")
    members.remove_member(actor=actor_for(ada, tenant), membership=row_of(rui))
    assert told == [("member", False), ("member", True)]
    with pytest.raises(NotVisible):
        actor_for(rui, tenant)


def test_only_owners_name_or_touch_owners(ada: User, tenant: Tenant) -> None:
    admin, rui = make_member(tenant, Role.ADMIN), make_member(tenant)
    acting = actor_for(admin, tenant)
    with pytest.raises(NotAllowed, match="name owners"):
        members.change_role(actor=acting, membership=row_of(rui), role=Role.OWNER)
    with pytest.raises(NotAllowed):
        members.change_role(actor=acting, membership=row_of(ada), role=Role.VIEWER)
    with pytest.raises(NotAllowed):
        members.remove_member(actor=acting, membership=row_of(ada))
    assert members.change_role(actor=acting, membership=row_of(rui), role=Role.ADMIN).role == "admin"
    members.change_role(actor=actor_for(ada, tenant), membership=row_of(rui), role=Role.OWNER)


def test_the_last_owner_stays(ada: User, tenant: Tenant) -> None:
    acting = actor_for(ada, tenant)
    with pytest.raises(WrongState, match="last"):
        members.leave(actor=acting)
    with pytest.raises(WrongState, match="last"):
        members.change_role(actor=acting, membership=row_of(ada), role=Role.ADMIN)
    with pytest.raises(WrongState, match="last"):
        members.remove_member(actor=acting, membership=row_of(ada))
    other = make_member(tenant, Role.ADMIN)
    members.change_role(actor=acting, membership=row_of(other), role=Role.OWNER)
    members.leave(actor=acting)
    assert not Membership.objects.filter(user=ada, ended_at=None).exists()


def test_a_change_of_what_changed_meanwhile_is_refused(ada: User, tenant: Tenant) -> None:
    rui = make_member(tenant)
    stale = row_of(rui)
    members.change_role(actor=actor_for(ada, tenant), membership=row_of(rui), role=Role.VIEWER)
    with pytest.raises(WrongState):
        members.change_role(actor=actor_for(ada, tenant), membership=stale, role=Role.ADMIN)
    assert row_of(rui).role == "viewer"


def test_no_role_of_ours_is_bad_input(ada: User, tenant: Tenant) -> None:
    with pytest.raises(BadInput):
        members.change_role(actor=actor_for(ada, tenant), membership=row_of(make_member(tenant)), role="root")


def test_the_pages(client: Client, ada: User, tenant: Tenant) -> None:
    rui = make_member(tenant, user=make_user("Rui <b>"))
    sign_in(client, ada)
    page = client.get("/t/aurora/members/")
    assert b"Rui &lt;b&gt;" in page.content
    assert b'id="live-members-' in page.content
    assert b"/ws/t/aurora/?topic=members:" in page.content
    one = f"/t/aurora/members/{row_of(rui).pk}/"
    assert client.get(one).status_code == 200
    assert client.post(one, {"role": "root"}).status_code == 400
    assert client.post(one, {"role": "admin"}).status_code == 302
    assert row_of(rui).role == "admin"
    assert client.get("/t/aurora/members/leave/").status_code == 200
    assert client.post("/t/aurora/members/leave/").status_code == 409
    assert client.post(f"{one}remove/").status_code == 302
    assert client.get(one).status_code == 404


def test_a_viewer_sees_people_and_no_invitations(client: Client, ada: User, tenant: Tenant) -> None:
    sign_in(client, make_member(tenant, Role.VIEWER))
    page = client.get("/t/aurora/members/").content
    assert b"Ada" in page
    assert b"Invitations" not in page
    assert client.get(f"/t/aurora/members/{row_of(ada).pk}/").status_code == 403
    assert client.get("/t/aurora/audit/").status_code == 403


def test_poll_says_304_until_something_changes(client: Client, ada: User, tenant: Tenant) -> None:
    sign_in(client, ada)
    url = f"/t/aurora/live/members/{tenant.pk}/"
    first = client.get(url)
    assert first.status_code == 200
    assert first.content.startswith(b"<div")
    assert b"hx-swap-oob" not in first.content
    assert client.get(url, headers={"If-None-Match": first["ETag"]}).status_code == 304
    rui = make_member(tenant)
    members.change_role(actor=actor_for(ada, tenant), membership=row_of(rui), role=Role.VIEWER)
    assert client.get(url, headers={"If-None-Match": first["ETag"]}).status_code == 200
    assert client.get(f"/t/aurora/live/nothing/{tenant.pk}/").status_code == 404
