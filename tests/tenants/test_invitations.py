"""Invitations: who may make them, who may accept them, and how they end."""

from __future__ import annotations

import datetime as dt

import pytest
import time_machine
from django.test import Client

from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, NotVisible, WrongState
from tenants.models import AuditEvent, Invitation, Membership, OidcIdentity, Role, Tenant, User
from tenants.services import invitations as service
from tenants.services import members
from tests.builders import actor_for, make_member, make_user, sign_in
from tests.cases import case

pytestmark = pytest.mark.django_db


def link(ada: User, tenant: Tenant, email: str = "rui@example.org", role: str = Role.MEMBER) -> str:
    return service.invite(actor=actor_for(ada, tenant), email=email, role=role)[1]


def accept(person: User, token: str) -> Membership:
    return service.accept_invitation(actor=actor_for(person), token=token)


@case("U29")
def test_the_invited_verified_address_joins_once(ada: User, tenant: Tenant) -> None:
    token = link(ada, tenant, "Rui@Example.org")
    rui = make_user("Rui")
    membership = accept(rui, token)
    assert (membership.tenant, membership.role) == (tenant, "member")
    assert actor_for(rui, tenant).role == "member"
    with pytest.raises(WrongState, match="used already"):
        accept(rui, token)
    assert Membership.objects.filter(user=rui).count() == 1


@case("U29")
def test_another_address_is_told_which_one_is_needed_in_a_masked_form(ada: User, tenant: Tenant) -> None:
    token = link(ada, tenant, "adeline@example.org")
    with pytest.raises(NotAllowed) as refused:
        accept(make_user("Bob"), token)
    assert "a…e@example.org" in refused.value.message
    assert "adeline" not in refused.value.message
    assert accept(make_user("Adeline"), token).role == "member"


@case("U29")
@pytest.mark.parametrize("how", ["unverified", "untrusted issuer", "no address"])
def test_an_address_that_is_not_proved_does_not_open_it(ada: User, tenant: Tenant, how: str) -> None:
    token = link(ada, tenant)
    rui = make_user(
        "Rui",
        email_verified=how != "unverified",
        issuer="https://other.example" if how == "untrusted issuer" else None,
        email="" if how == "no address" else None,
    )
    with pytest.raises(NotAllowed):
        accept(rui, token)
    assert not Membership.objects.filter(user=rui).exists()
    assert accept(make_user("Rui"), token).role == "member"


@case("U29")
def test_ended_and_revoked_ones_are_refused_kindly(ada: User, tenant: Tenant) -> None:
    rui = make_user("Rui")
    ended, revoked, good = link(ada, tenant), link(ada, tenant), link(ada, tenant)
    row = Invitation.objects.get(token_hash=service.hash_of(revoked))
    service.revoke_invitation(actor=actor_for(ada, tenant), invitation=row)
    with pytest.raises(WrongState, match="taken back"):
        accept(rui, revoked)
    with pytest.raises(WrongState, match="already"):
        service.revoke_invitation(actor=actor_for(ada, tenant), invitation=row)
    later = clock.now() + service.LIFETIME + dt.timedelta(seconds=1)
    with time_machine.travel(later, tick=True), pytest.raises(WrongState, match="has ended"):
        accept(rui, ended)
    assert accept(rui, good).role == "member"


@case("U29")
def test_the_inviter_must_still_have_the_right(ada: User, tenant: Tenant) -> None:
    admin = make_member(tenant, Role.ADMIN)
    token = link(admin, tenant)
    row = Membership.objects.get(user=admin)
    members.change_role(actor=actor_for(ada, tenant), membership=row, role=Role.VIEWER)
    rui = make_user("Rui")
    with pytest.raises(WrongState, match="may no longer"):
        accept(rui, token)
    members.change_role(actor=actor_for(ada, tenant), membership=row, role=Role.ADMIN)
    assert accept(rui, token).role == "member"


@case("U29")
@pytest.mark.parametrize("used", [0, 1])
def test_invited_twice_the_newest_role_wins_and_the_audit_shows_it(
    ada: User, tenant: Tenant, used: int
) -> None:
    tokens = [link(ada, tenant, role=Role.MEMBER), link(ada, tenant, role=Role.ADMIN)]
    rui = make_user("Rui")
    assert accept(rui, tokens[used]).role == "admin"
    with pytest.raises(WrongState):
        accept(rui, tokens[1 - used])
    event = AuditEvent.objects.get(verb="invitation.accepted")
    assert event.detail == {"role": "admin", "others_closed": 1}


def test_a_member_who_accepts_a_newer_invitation_gets_its_role(ada: User, tenant: Tenant) -> None:
    rui = make_user("Rui")
    accept(rui, link(ada, tenant, role=Role.VIEWER))
    User.objects.filter(pk=rui.pk).update(email_verified=False)  # so that inviting again is not refused
    assert accept(rui, link(ada, tenant, role=Role.ADMIN)).role == "admin"
    assert Membership.objects.filter(user=rui, ended_at=None).count() == 1


def test_who_may_invite_whom(ada: User, tenant: Tenant) -> None:
    admin = make_member(tenant, Role.ADMIN)
    for role in (Role.MEMBER, Role.VIEWER):
        with pytest.raises(NotAllowed):
            link(make_member(tenant, role), tenant)
    with pytest.raises(NotAllowed, match="name owners"):
        link(admin, tenant, "new@example.org", Role.OWNER)
    assert link(ada, tenant, "new@example.org", Role.OWNER)
    assert link(admin, tenant, "new@example.org", Role.ADMIN)


@pytest.mark.parametrize("email", ["", "rui", "a@b", "rui@example.org, b@x.org", "x" * 250 + "@example.org"])
def test_a_bad_address_is_a_field_error(ada: User, tenant: Tenant, email: str) -> None:
    with pytest.raises(BadInput) as refused:
        link(ada, tenant, email)
    assert list(refused.value.fields) == ["email"]


def test_a_member_is_not_invited_again(ada: User, tenant: Tenant) -> None:
    make_member(tenant, user=make_user("Rui"))
    with pytest.raises(BadInput, match="cannot be used"):
        link(ada, tenant, "RUI@example.org")


def test_only_the_hash_is_kept(ada: User, tenant: Tenant) -> None:
    token = link(ada, tenant)
    assert len(token) == 43
    assert token not in str(list(Invitation.objects.values()) + list(AuditEvent.objects.values()))


def test_an_unknown_link_and_one_of_a_suspended_tenant_look_the_same(ada: User, tenant: Tenant) -> None:
    token, rui = link(ada, tenant), make_user("Rui")
    with pytest.raises(NotVisible) as unknown:
        accept(rui, "nothing")
    Tenant.objects.update(suspended_at=clock.now())
    with pytest.raises(NotVisible) as suspended:
        accept(rui, token)
    assert suspended.value.message == unknown.value.message


@case("U29")
def test_the_pages_show_the_link_once_and_opening_it_changes_nothing(
    client: Client, ada: User, tenant: Tenant
) -> None:
    sign_in(client, ada)
    answer = client.post("/t/aurora/members/invite/", {"email": "rui@example.org", "role": "member"})
    assert answer.status_code == 302
    shown = client.get(answer["Location"])
    url = shown.context["link"]
    assert url.encode() in shown.content
    assert client.get(answer["Location"]).context["link"] is None
    before = list(Invitation.objects.values())

    scanner = Client()
    path = url.removeprefix("http://testserver")
    assert scanner.get(path)["Location"] == "/invited/"
    assert scanner.get("/invited/").status_code == 200
    assert scanner.get("/invitation/").status_code == 302

    rui, guest = make_user("Rui"), Client()
    guest.get(path)
    sign_in(guest, rui)
    page = guest.get("/invitation/")
    assert b"Accept the invitation" in page.content
    assert list(Invitation.objects.values()) == before
    assert guest.post("/invitation/")["Location"] == "/t/aurora/"
    assert OidcIdentity.objects.get(user=rui).user.memberships.get().role == "member"
    assert guest.post("/invitation/").status_code == 404


def test_a_wrong_person_gets_a_kind_page(client: Client, ada: User, tenant: Tenant) -> None:
    token = link(ada, tenant)
    client.get(f"/invitation/{token}/")
    sign_in(client, make_user("Bob"))
    for answer in (client.get("/invitation/"), client.post("/invitation/")):
        assert answer.status_code == 403
        assert b"Nothing was changed" in answer.content
        assert token.encode() not in answer.content


def test_a_form_with_errors_keeps_what_was_typed(client: Client, ada: User, tenant: Tenant) -> None:
    sign_in(client, ada)
    answer = client.post("/t/aurora/members/invite/", {"email": "not an address", "role": "admin"})
    assert answer.status_code == 400
    assert b"not an address" in answer.content
    assert answer.context["form"]["role"].value() == "admin"


def test_revoke_by_page(client: Client, ada: User, tenant: Tenant) -> None:
    link(ada, tenant)
    row = Invitation.objects.get()
    sign_in(client, ada)
    assert client.get(f"/t/aurora/members/invitations/{row.pk}/revoke/").status_code == 405
    assert client.post(f"/t/aurora/members/invitations/{row.pk}/revoke/").status_code == 302
    assert client.post(f"/t/aurora/members/invitations/{row.pk}/revoke/").status_code == 409


def test_a_link_says_first_what_it_is_about_and_leaks_no_address(ada: User, tenant: Tenant) -> None:
    token = link(ada, tenant, "bob.hansen@example.org", "viewer")
    guest = Client()
    page = guest.get(guest.get(f"/invitation/{token}/")["Location"])
    text = page.content.decode()
    assert "You are invited to Aurora" in text
    assert "Viewer" in text
    assert "Sign in as b…n@e….org to accept" in text
    assert 'href="/signin/?next=/invitation/"' in text
    for secret in ("bob", "hansen", "example.org", "Ada", token):
        assert secret not in text
    sign_in(guest, make_user("Bob Hansen"))
    assert guest.get("/invited/")["Location"] == "/invitation/"


def test_a_link_that_cannot_be_used_is_told_before_signing_in(ada: User, tenant: Tenant) -> None:
    token = link(ada, tenant)
    service.revoke_invitation(actor=actor_for(ada, tenant), invitation=Invitation.objects.get())
    guest = Client()
    guest.get(f"/invitation/{token}/")
    closed = guest.get("/invited/")
    assert closed.status_code == 409
    assert b"taken back" in closed.content
    assert b"Aurora" not in closed.content
    assert Client().get("/invited/").status_code == 404


@pytest.mark.parametrize(
    ("email", "told"),
    [("bob@example.org", "b…b@e….org"), ("a@x.y.example", "a…@x….example"), ("ab@localhost", "a…@…")],
)
def test_a_hidden_address_shows_no_more_than_one_knows_of_oneself(email: str, told: str) -> None:
    assert service.hidden(email) == told
