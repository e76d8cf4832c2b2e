"""API tokens: made by their person, shown once, never more than role and scope, ended with the membership."""

from __future__ import annotations

import datetime as dt
import re

import pytest
import time_machine
from django.test import Client

from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, NotVisible, WrongState
from tenants.models import ApiToken, AuditEvent, Membership, Role, Tenant, User
from tenants.rights import Action, may, require
from tenants.scopes import SCOPES, actions_of, useful_scopes
from tenants.services import members, tokens
from tests.api.calls import make_token
from tests.builders import actor_for, make_member, make_tenant, sign_in

pytestmark = pytest.mark.django_db


def in_days(days: float) -> dt.datetime:
    return clock.now() + dt.timedelta(days=days)


def test_a_token_acts_as_its_person_and_only_its_hash_is_kept(ada: User, tenant: Tenant) -> None:
    secret = make_token(ada, tenant, ["read"])
    assert re.fullmatch(r"fht_[A-Za-z0-9_-]{43}", secret)
    row = ApiToken.objects.get()
    assert secret not in str(ApiToken.objects.values().get())
    assert row.ending == secret[-4:]
    actor = tokens.actor_of_token(secret)
    assert actor is not None
    assert (actor.user, actor.via, actor.is_operator) == (ada, "api", False)
    assert actor.within("aurora").role == "owner"
    assert "robot" in actor.label
    event = AuditEvent.objects.get(verb="token.created")
    assert secret not in str(event.detail)
    assert event.detail["scopes"] == ["read"]


def test_a_token_opens_no_other_tenant_of_its_person(ada: User, tenant: Tenant) -> None:
    make_tenant("Second", owner=ada)
    actor = tokens.actor_of_token(make_token(ada, tenant))
    assert actor is not None
    assert actor_for(ada).within("second").role == "owner"
    with pytest.raises(NotVisible):
        actor.within("second")


def test_a_token_ends(ada: User, tenant: Tenant) -> None:
    secret = make_token(ada, tenant, days=1)
    assert tokens.actor_of_token(secret) is not None
    with time_machine.travel(in_days(1.01)):
        assert tokens.actor_of_token(secret) is None
        assert tokens.state_of(ApiToken.objects.get()) == "ended"


def test_a_revoked_token_is_dead_and_revoked_once(ada: User, tenant: Tenant) -> None:
    secret = make_token(ada, tenant)
    row = ApiToken.objects.get()
    assert tokens.actor_of_token(secret) is not None
    tokens.revoke_token(actor=actor_for(ada, tenant), token=row)
    assert tokens.actor_of_token(secret) is None
    with pytest.raises(WrongState):
        tokens.revoke_token(actor=actor_for(ada, tenant), token=row)
    assert AuditEvent.objects.filter(verb="token.revoked").count() == 1


def test_only_its_person_revokes_a_token(ada: User, tenant: Tenant) -> None:
    rui = make_member(tenant)
    make_token(rui, tenant)
    with pytest.raises(NotAllowed):
        tokens.revoke_token(actor=actor_for(ada, tenant), token=ApiToken.objects.get())


def test_a_token_ends_with_the_membership_and_does_not_come_back(ada: User, tenant: Tenant) -> None:
    rui = make_member(tenant)
    secret = make_token(rui, tenant)
    assert tokens.actor_of_token(secret) is not None
    membership = Membership.objects.get(user=rui)
    members.remove_member(actor=actor_for(ada, tenant), membership=membership)
    assert tokens.actor_of_token(secret) is None
    make_member(tenant, Role.ADMIN, user=rui)
    assert tokens.actor_of_token(secret) is None


@pytest.mark.parametrize("what", ["person", "tenant", "member"])
def test_a_token_rests_while_its_person_or_tenant_is_suspended(ada: User, tenant: Tenant, what: str) -> None:
    secret = make_token(ada, tenant)
    assert tokens.actor_of_token(secret) is not None
    if what == "person":
        User.objects.filter(pk=ada.pk).update(is_active=False)
    elif what == "member":
        Membership.objects.update(suspended_at=clock.now())
    else:
        Tenant.objects.filter(pk=tenant.pk).update(suspended_at=clock.now())
    assert tokens.actor_of_token(secret) is None


def test_rights_are_those_of_scope_and_present_role(ada: User, tenant: Tenant) -> None:
    rui = make_member(tenant, Role.ADMIN)
    secret = make_token(rui, tenant, ["people"])

    def now() -> bool:
        actor = tokens.actor_of_token(secret)
        assert actor is not None
        return may(actor.within("aurora"), Action.MANAGE_PEOPLE)

    assert now()
    membership = Membership.objects.get(user=rui)
    members.change_role(actor=actor_for(ada, tenant), membership=membership, role=Role.MEMBER)
    assert not now()


def test_a_refusal_says_whether_role_or_scope_is_lacking(tenant: Tenant) -> None:
    secret = make_token(make_member(tenant, Role.ADMIN), tenant, ["read"])
    actor = tokens.actor_of_token(secret)
    assert actor is not None
    require(actor.within("aurora"), Action.READ_AUDIT)
    with pytest.raises(NotAllowed, match="token may not order"):
        require(actor.within("aurora"), Action.ORDER)
    with pytest.raises(NotAllowed, match="role may not terminate"):
        require(actor.within("aurora"), Action.TERMINATE)


def test_every_action_is_in_a_scope() -> None:
    assert actions_of(SCOPES) == frozenset(Action)
    assert actions_of(["gone"]) == frozenset()
    assert useful_scopes("viewer") == ["read", "people", "kubernetes"]
    assert useful_scopes("owner") == list(SCOPES)


def test_a_token_makes_no_tokens(ada: User, tenant: Tenant) -> None:
    actor = tokens.actor_of_token(make_token(ada, tenant))
    assert actor is not None
    with pytest.raises(NotAllowed, match="browser"):
        tokens.create_token(actor=actor.within("aurora"), name="x", scopes=["read"], expires_at=in_days(1))


@pytest.mark.parametrize(
    ("name", "scopes", "days", "field"),
    [
        ("", ["read"], 1, "name"),
        ("x" * 61, ["read"], 1, "name"),
        ("a\u202eb", ["read"], 1, "name"),
        ("x", [], 1, "scopes"),
        ("x", ["root"], 1, "scopes"),
        ("x", ["orders"], 1, "scopes"),
        ("x", ["read"], 0, "days"),
        ("x", ["read"], 366, "days"),
    ],
)
def test_bounds_are_told_by_field(
    tenant: Tenant, name: str, scopes: list[str], days: float, field: str
) -> None:
    actor = actor_for(make_member(tenant), tenant)
    tokens.create_token(actor=actor, name="x" * 60, scopes=["read", "jobs"], expires_at=in_days(365))
    with pytest.raises(BadInput) as refused:
        tokens.create_token(actor=actor, name=name, scopes=scopes, expires_at=in_days(days))
    assert list(refused.value.fields) == [field]


def test_a_member_has_a_bounded_number(ada: User, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_TOKENS", 2)
    make_token(ada, tenant)
    make_token(ada, tenant)
    with pytest.raises(WrongState):
        make_token(ada, tenant)
    tokens.revoke_token(actor=actor_for(ada, tenant), token=ApiToken.objects.first())  # type: ignore[arg-type]
    make_token(ada, tenant)


def test_last_use_is_noted_to_a_minute(ada: User, tenant: Tenant) -> None:
    secret = make_token(ada, tenant)
    seen = []
    start = clock.now()
    for seconds in (0, 30, 70):
        with time_machine.travel(start + dt.timedelta(seconds=seconds), tick=False):
            assert tokens.actor_of_token(secret) is not None
        seen.append(ApiToken.objects.get().last_used_at)
    assert seen[0] == seen[1] != seen[2]


def test_the_page_shows_a_token_once(ada: User, tenant: Tenant) -> None:
    browser = sign_in(Client(), ada)
    assert b"No tokens yet" in browser.get("/t/aurora/tokens/").content
    sent = {"name": "nightly", "scopes": ["read", "jobs"], "days": "30"}
    answer = browser.post("/t/aurora/tokens/new/", sent)
    assert answer.status_code == 302
    kept = str(dict(browser.session))
    page = browser.get("/t/aurora/tokens/").content.decode()
    found = re.search(r"fht_[A-Za-z0-9_-]{43}", page)
    assert found
    assert found[0] not in kept  # sealed on its way from page to page
    assert f'data-copy="{found[0]}"' in page
    assert "Bearer $TOKEN" in page  # the name that README and docs use
    assert tokens.actor_of_token(found[0]) is not None
    again = browser.get("/t/aurora/tokens/").content.decode()
    assert found[0] not in again
    assert "nightly" in again
    revoke = f"/t/aurora/tokens/{ApiToken.objects.get().pk}/revoke/"
    assert f'href="{revoke}"' in again
    assert "Programs that use this token are refused" in browser.get(revoke).content.decode()  # asks first
    assert tokens.actor_of_token(found[0]) is not None
    assert browser.post(revoke).status_code == 302
    assert browser.get(revoke).status_code == 409
    assert "Revoked" in browser.get("/t/aurora/tokens/").content.decode()
    assert tokens.actor_of_token(found[0]) is None


def test_the_form_says_what_is_wrong(ada: User, tenant: Tenant) -> None:
    browser = sign_in(Client(), ada)
    page = browser.get("/t/aurora/tokens/new/").content.decode()
    assert "Orders: order" in page
    answer = browser.post("/t/aurora/tokens/new/", {"name": "\u202e", "scopes": ["read"], "days": "30"})
    assert answer.status_code == 400
    assert "printable" in answer.content.decode()
    answer = browser.post("/t/aurora/tokens/new/", {"name": "x", "days": "0"})
    assert answer.status_code == 400
    assert not ApiToken.objects.exists()


def test_nobody_sees_tokens_of_others(ada: User, tenant: Tenant) -> None:
    rui = make_member(tenant)
    make_token(rui, tenant, name="of-rui")
    assert "of-rui" in sign_in(Client(), rui).get("/t/aurora/tokens/").content.decode()
    assert "of-rui" not in sign_in(Client(), ada).get("/t/aurora/tokens/").content.decode()
