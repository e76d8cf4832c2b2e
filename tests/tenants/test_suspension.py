"""People and tenants that are kept out for now: who may do that, what closes, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, NotVisible, WrongState
from tenants import hooks
from tenants.actor import Actor
from tenants.models import AuditEvent, Membership, Role, Tenant, User
from tenants.services import access, invitations, members
from tenants.services.tenants import change_settings
from tests.builders import actor_for, make_member, make_operator, make_tenant, make_user, sign_in
from tests.cases import case

pytestmark = pytest.mark.django_db
Act = Callable[[], object]


@pytest.fixture
def rui(tenant: Tenant) -> User:
    return make_member(tenant, user=make_user("Rui"))


@pytest.fixture
def otto() -> Actor:
    return replace(actor_for(make_operator()), via="admin")


def row_of(person: User) -> Membership:
    return Membership.objects.get(user=person, ended_at=None)


def verbs(tenant: Tenant | None = None) -> list[str]:
    return list(AuditEvent.objects.filter(tenant=tenant).order_by("id").values_list("verb", flat=True))


def test_a_suspended_member_is_out_at_the_next_request_and_back_with_the_same_role(
    client: Client, ada: User, tenant: Tenant, rui: User
) -> None:
    browser = sign_in(Client(), rui)
    assert browser.get("/t/aurora/members/").status_code == 200
    live = f"/t/aurora/live/members/{tenant.pk}/"
    assert browser.get(live).status_code == 200
    one = f"/t/aurora/members/{row_of(rui).pk}/"
    sign_in(client, ada)
    assert client.post(f"{one}suspend/").status_code == 302
    for url in ("/t/aurora/members/", live):
        assert browser.get(url).status_code == 404
    assert b"kept out of Aurora for now" in browser.get("/", follow=True).content
    page = client.get("/t/aurora/members/").content
    assert b"Suspended" in page
    assert b"Let Rui in again" in client.get(one).content
    assert client.post(f"{one}suspend/").status_code == 409
    assert client.post(f"{one}resume/").status_code == 302
    assert client.post(f"{one}resume/").status_code == 409
    assert browser.get("/t/aurora/members/").status_code == 200
    assert actor_for(rui, tenant).role == "member"
    assert verbs(tenant) == ["member.suspended", "member.resumed"]


@case("U32")
def test_of_two_tenants_only_the_tab_of_one_closes(ada: User, tenant: Tenant, rui: User) -> None:
    boreas = make_tenant("Boreas", owner=make_user("Olga"))
    make_member(boreas, Role.ADMIN, user=rui)
    browser = sign_in(Client(), rui)
    acting = actor_for(ada, tenant)
    here = Membership.objects.get(user=rui, tenant=tenant)
    ways: list[tuple[Act, bool]] = [
        (lambda: members.suspend_member(actor=acting, membership=here), True),
        (lambda: members.remove_member(actor=acting, membership=here), False),
    ]
    for away, back in ways:
        assert browser.get("/t/aurora/members/").status_code == 200
        away()
        assert browser.get("/t/aurora/members/").status_code == 404
        assert browser.get("/t/boreas/members/invite/").status_code == 200
        assert browser.get("/")["Location"] == "/t/boreas/"
        if back:
            here.refresh_from_db()
            members.resume_member(actor=acting, membership=here)


@case("U32")
def test_after_the_last_tenant_there_is_a_page_with_next_steps(ada: User, tenant: Tenant, rui: User) -> None:
    browser = sign_in(Client(), rui)
    assert browser.get("/")["Location"] == "/t/aurora/"
    members.remove_member(actor=actor_for(ada, tenant), membership=row_of(rui))
    page = browser.get("/", follow=True).content
    assert b"do not belong to one yet" in page
    assert b"kept out" not in page
    assert b"/t/aurora/" not in page


def test_who_may_suspend_whom(ada: User, tenant: Tenant, rui: User) -> None:
    admin = make_member(tenant, Role.ADMIN)
    for role in (Role.MEMBER, Role.VIEWER):
        with pytest.raises(NotAllowed):
            members.suspend_member(actor=actor_for(make_member(tenant, role), tenant), membership=row_of(rui))
    members.suspend_member(actor=actor_for(admin, tenant), membership=row_of(rui))
    with pytest.raises(NotAllowed):
        members.suspend_member(actor=actor_for(admin, tenant), membership=row_of(ada))
    with pytest.raises(WrongState, match="yourself"):
        members.suspend_member(actor=actor_for(admin, tenant), membership=row_of(admin))
    nora = make_member(tenant, Role.OWNER)
    members.suspend_member(actor=actor_for(nora, tenant), membership=row_of(ada))
    with pytest.raises(NotAllowed):
        members.resume_member(actor=actor_for(admin, tenant), membership=row_of(ada))
    members.resume_member(actor=actor_for(nora, tenant), membership=row_of(ada))


def test_a_suspended_owner_is_no_owner_to_stay_behind(ada: User, tenant: Tenant) -> None:
    nora = make_member(tenant, Role.OWNER)
    members.suspend_member(actor=actor_for(ada, tenant), membership=row_of(nora))
    with pytest.raises(WrongState, match="last"):
        members.leave(actor=actor_for(ada, tenant))
    members.resume_member(actor=actor_for(ada, tenant), membership=row_of(nora))
    members.leave(actor=actor_for(ada, tenant))


def test_a_suspended_member_can_be_removed_and_a_stale_page_changes_nothing(
    ada: User, tenant: Tenant, rui: User
) -> None:
    acting, stale = actor_for(ada, tenant), row_of(rui)
    members.suspend_member(actor=acting, membership=row_of(rui))
    with pytest.raises(WrongState):
        members.change_role(actor=acting, membership=stale, role=Role.ADMIN)
    members.remove_member(actor=acting, membership=row_of(rui))
    assert not Membership.objects.live().filter(user=rui).exists()


@case("U29")
def test_a_suspended_inviter_invites_nobody_and_an_invitation_ends_no_suspension(
    ada: User, tenant: Tenant, rui: User
) -> None:
    admin, eva = make_member(tenant, Role.ADMIN), make_user("Eva")
    token = invitations.invite(actor=actor_for(admin, tenant), email=eva.email, role="member")[1]
    acting = actor_for(ada, tenant)
    members.suspend_member(actor=acting, membership=row_of(admin))
    with pytest.raises(WrongState, match="may no longer"):
        invitations.accept_invitation(actor=actor_for(eva), token=token)
    members.resume_member(actor=acting, membership=row_of(admin))
    assert invitations.accept_invitation(actor=actor_for(eva), token=token).role == "member"
    User.objects.filter(pk=rui.pk).update(email_verified=False)  # so that inviting is not refused
    token = invitations.invite(actor=acting, email="rui@example.org", role="admin")[1]
    members.suspend_member(actor=acting, membership=row_of(rui))
    with pytest.raises(WrongState, match="suspended"):
        invitations.accept_invitation(actor=actor_for(rui), token=token)
    members.resume_member(actor=acting, membership=row_of(rui))
    assert invitations.accept_invitation(actor=actor_for(rui), token=token).role == "admin"


def test_the_setting_says_whether_jobs_end_with_the_membership(
    client: Client, ada: User, tenant: Tenant, rui: User
) -> None:
    acting = actor_for(ada, tenant)
    members.suspend_member(actor=acting, membership=row_of(rui))
    assert row_of(rui).end_jobs_since is None
    members.resume_member(actor=acting, membership=row_of(rui))
    sign_in(client, ada)
    assert b"go on; admins" in client.get(f"/t/aurora/members/{row_of(rui).pk}/").content
    assert client.post("/t/aurora/settings/", {"leavers_jobs": "burn"}).status_code == 400
    assert client.post("/t/aurora/settings/", {"leavers_jobs": "cancel"}).status_code == 302
    assert b"checked" in client.get("/t/aurora/settings/").content
    event = AuditEvent.objects.get(verb="tenant.settings_changed")
    assert event.detail == {"cancel_jobs_on_leave": {"old": "no", "new": "yes"}}
    assert b"Running jobs are cancelled" in client.get(f"/t/aurora/members/{row_of(rui).pk}/").content
    members.suspend_member(actor=acting, membership=row_of(rui))
    assert row_of(rui).end_jobs_since is not None
    members.resume_member(actor=acting, membership=row_of(rui))
    assert row_of(rui).end_jobs_since is None
    members.leave(actor=actor_for(rui, tenant))
    left = Membership.objects.get(user=rui)
    assert left.end_jobs_since is not None
    assert AuditEvent.objects.get(verb="member.left").detail["jobs_end"] is True


@pytest.mark.parametrize("role", [Role.ADMIN, Role.MEMBER, Role.VIEWER])
def test_only_owners_change_settings(ada: User, tenant: Tenant, role: Role) -> None:
    with pytest.raises(NotAllowed):
        change_settings(actor=actor_for(make_member(tenant, role), tenant), cancel_jobs_on_leave=True)
    assert change_settings(actor=actor_for(ada, tenant), cancel_jobs_on_leave=True).cancel_jobs_on_leave


def test_an_operator_suspends_a_tenant_and_opens_it_again(
    client: Client, ada: User, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    monkeypatch.setattr(hooks, "tenant_changed", [lambda row: told.append(row.suspended_at is not None)])
    browser = sign_in(Client(), ada)
    assert browser.get("/t/aurora/members/").status_code == 200
    sign_in(client, make_operator())
    do = f"/operations/tenants/tenant/{tenant.pk}/do/"
    assert client.post(f"{do}suspend/", {"note": " "}).status_code == 400
    assert client.get(f"{do}suspend/").status_code == 405
    assert client.post(f"{do}suspend/", {"note": "Unpaid."}).status_code == 302
    assert browser.get("/t/aurora/members/").status_code == 404
    assert b"provider suspended the whole tenant" in browser.get("/", follow=True).content
    client.post(f"{do}suspend/", {"note": "Unpaid."})
    assert client.post(f"{do}resume/", {"note": "Paid."}).status_code == 302
    assert browser.get("/t/aurora/members/").status_code == 200
    assert told == [True, False]
    events = AuditEvent.objects.filter(verb__in=["tenant.suspended", "tenant.resumed"]).order_by("id")
    assert [(e.tenant, e.verb, e.detail["reason"], e.actor_kind) for e in events] == [
        (tenant, "tenant.suspended", "Unpaid.", "operator"),
        (tenant, "tenant.resumed", "Paid.", "operator"),
    ]


def test_an_operator_suspends_a_person_everywhere(
    client: Client, ada: User, tenant: Tenant, rui: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    boreas = make_tenant("Boreas", owner=make_user("Olga"))
    make_member(boreas, user=rui)
    told: list[bool] = []
    monkeypatch.setattr(hooks, "membership_changed", [lambda row: told.append(row.is_working)])
    browser = sign_in(Client(), rui)
    assert browser.get("/t/boreas/members/").status_code == 200
    sign_in(client, make_operator())
    do = f"/operations/tenants/user/{rui.pk}/do/"
    assert client.post(f"{do}suspend/", {"note": "Stolen account."}).status_code == 302
    assert browser.get("/t/boreas/members/")["Location"].startswith("/signin/")
    assert b"Suspended" in sign_in(Client(), ada).get("/t/aurora/members/").content
    assert client.post(f"{do}resume/", {"note": "Theirs again."}).status_code == 302
    # the old session does not come back to life
    assert browser.get("/t/boreas/members/")["Location"].startswith("/signin/")
    assert sign_in(Client(), User.objects.get(pk=rui.pk)).get("/t/boreas/members/").status_code == 200
    assert told == [False, False, True, True]
    for one in (tenant, boreas):
        assert verbs(one) == ["member.access_suspended", "member.access_resumed"]
        assert "Stolen" not in str(list(AuditEvent.objects.filter(tenant=one).values_list("detail")))
    assert {"person.suspended", "person.resumed"} <= set(verbs())


def test_only_operators_and_with_a_reason(ada: User, tenant: Tenant, rui: User, otto: Actor) -> None:
    for actor in (actor_for(ada, tenant), Actor()):
        with pytest.raises(NotAllowed):
            access.suspend_tenant(actor=actor, tenant=tenant, reason="x")
        with pytest.raises(NotAllowed):
            access.suspend_person(actor=actor, person=rui, reason="x")
    for reason in ("", "x" * 501, "a\0b"):
        with pytest.raises(BadInput):
            access.suspend_person(actor=otto, person=rui, reason=reason)
    access.suspend_person(actor=otto, person=rui, reason="x")
    with pytest.raises(WrongState):
        access.suspend_person(actor=otto, person=rui, reason="x")
    access.resume_person(actor=otto, person=rui, reason="x")
    with pytest.raises(WrongState):
        access.resume_person(actor=otto, person=rui, reason="x")
    assert otto.user is not None
    with pytest.raises(WrongState, match="yourself"):
        access.suspend_person(actor=otto, person=otto.user, reason="x")


def test_the_pages_of_operators_are_not_for_members(client: Client, ada: User, tenant: Tenant) -> None:
    sign_in(client, ada)
    do = f"/operations/tenants/tenant/{tenant.pk}/do/suspend/"
    assert client.post(do, {"note": "x"}, follow=True).status_code == 403
    tenant.refresh_from_db()
    assert tenant.suspended_at is None
    assert sign_in(Client(), make_operator()).post(do, {"note": "x"}).status_code == 302
    tenant.refresh_from_db()
    assert tenant.suspended_at is not None


def test_the_members_list_needs_the_same_queries_for_many(client: Client, ada: User, tenant: Tenant) -> None:
    sign_in(client, ada)
    _queries(client)  # notes when the person was seen
    few = _queries(client)
    for _ in range(30):
        make_member(tenant)
    assert _queries(client) == few


def _queries(client: Client) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get("/t/aurora/members/").status_code == 200
    return len(captured)


def test_a_working_membership_says_so_of_itself_and_in_queries(ada: User, tenant: Tenant, rui: User) -> None:
    def works() -> tuple[bool, bool]:
        row = Membership.objects.select_related("user", "tenant").get(user=rui)
        return row.is_working, Membership.objects.working().filter(pk=row.pk).exists()

    now = clock.now()
    assert works() == (True, True)
    for column in ("suspended_at", "ended_at"):
        Membership.objects.filter(user=rui).update(**{column: now})
        assert works() == (False, False)
        Membership.objects.filter(user=rui).update(**{column: None})
    User.objects.filter(pk=rui.pk).update(is_active=False)
    assert works() == (False, False)
    User.objects.filter(pk=rui.pk).update(is_active=True)
    Tenant.objects.update(suspended_at=now)
    assert works() == (False, False)
    with pytest.raises(NotVisible):
        actor_for(rui, tenant)
