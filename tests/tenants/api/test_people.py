"""Me, the tenant, its members and invitations, by API."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tenants.models import AuditEvent, Invitation, Membership, Role, Tenant, User
from tests.api.calls import make_token, send
from tests.builders import make_member, make_tenant, make_user, sign_in
from tests.cases import case

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
HERE = "/api/v1/t/aurora/"


def ask(token: str, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
    answer = send(token, method, HERE + path, body)
    assert answer.status_code == status, answer.content
    return answer.json() if answer.content else None


def row_of(person: User) -> Membership:
    return Membership.objects.get(user=person, ended_at=None)


def test_me_is_the_person_and_the_token(ada: User, token: str) -> None:
    found = send(token, "get", "/api/v1/me/").json()
    assert (found["id"], found["name"], found["email"]) == (str(ada.pk), "Ada", "ada@example.org")
    assert found["token"]["name"] == "robot"
    assert found["token"]["scopes"] == ["read", "jobs", "orders", "people", "kubernetes"]


@case("U32")
def test_my_tenants_are_those_that_the_token_opens(ada: User, token: str) -> None:
    second = make_token(ada, make_tenant("Second", owner=ada))
    found = send(token, "get", "/api/v1/me/tenants/").json()
    assert [row["slug"] for row in found["items"]] == ["aurora"]
    assert send(token, "get", "/api/v1/t/second/").status_code == 404
    assert send(second, "get", "/api/v1/t/second/").status_code == 200


def test_the_tenant_says_what_role_and_token_allow(tenant: Tenant, token: str) -> None:
    assert "terminate" in ask(token, "get", "")["may"]
    viewer = make_token(make_member(tenant, Role.VIEWER), tenant, ["read"])
    assert ask(viewer, "get", "")["may"] == ["view"]
    assert ask(viewer, "get", "")["role"] == "viewer"


def test_members_come_and_go(tenant: Tenant, token: str) -> None:
    rui = make_member(tenant, user=make_user("Rui"))
    found = ask(token, "get", "members/")["items"]
    assert [(row["person"]["name"], row["role"]) for row in found] == [("Ada", "owner"), ("Rui", "member")]
    path = f"members/{row_of(rui).pk}/"
    assert ask(token, "patch", path, {"role": "admin"})["role"] == "admin"
    assert ask(token, "get", path)["role"] == "admin"
    ask(token, "patch", path, {"role": "king"}, status=400)
    assert ask(token, "delete", path, status=204) is None
    ask(token, "get", path, status=404)
    verbs = list(AuditEvent.objects.filter(via="api").values_list("verb", flat=True))
    assert verbs == ["member.role_changed", "member.removed"]
    event = AuditEvent.objects.get(verb="member.removed")
    assert "API token robot" in event.actor_label
    assert event.address == "127.0.0.1"
    assert event.request_id


def test_a_member_is_kept_out_and_let_in_again(tenant: Tenant, token: str) -> None:
    rui = make_member(tenant)
    robot = make_token(rui, tenant)
    path = f"members/{row_of(rui).pk}/"
    ask(robot, "get", "")
    assert ask(token, "post", f"{path}suspend/")["suspended_at"]
    assert send(robot, "get", HERE).status_code == 401
    ask(token, "post", f"{path}suspend/", status=409)
    assert ask(token, "get", path)["suspended_at"]
    assert ask(token, "post", f"{path}resume/")["suspended_at"] is None
    ask(robot, "get", "")  # a suspension does not end tokens, the end of the membership does
    ask(token, "post", f"{path}resume/", status=409)


def test_an_owner_changes_the_settings(token: str) -> None:
    assert ask(token, "get", "settings/") == {"cancel_jobs_on_leave": False}
    assert ask(token, "patch", "settings/", {"cancel_jobs_on_leave": True}) == {"cancel_jobs_on_leave": True}
    assert ask(token, "get", "settings/") == {"cancel_jobs_on_leave": True}
    ask(token, "patch", "settings/", {"cancel_jobs_on_leave": "perhaps"}, status=400)
    assert AuditEvent.objects.filter(verb="tenant.settings_changed", via="api").count() == 1


def test_the_last_owner_stays(ada: User, tenant: Tenant, token: str) -> None:
    found = ask(token, "post", "members/leave/", status=409)
    assert "last one" in found["detail"]
    ask(token, "patch", f"members/{row_of(ada).pk}/", {"role": "viewer"}, status=409)
    make_member(tenant, Role.OWNER)
    ask(token, "post", "members/leave/", status=204)
    assert send(token, "get", "/api/v1/me/").status_code == 401  # the token went with the membership


def test_an_admin_names_no_owners(ada: User, tenant: Tenant) -> None:
    admin = make_token(make_member(tenant, Role.ADMIN), tenant)
    ask(admin, "patch", f"members/{row_of(ada).pk}/", {"role": "viewer"}, status=403)
    ask(admin, "post", "invitations/", {"email": "x@example.org", "role": "owner"}, status=403)
    ask(admin, "post", "invitations/", {"email": "x@example.org", "role": "admin"}, status=201)


def test_an_invitation_tells_its_link_once(tenant: Tenant, token: str) -> None:
    made = ask(token, "post", "invitations/", {"email": "rui@example.org", "role": "member"}, status=201)
    assert made["link"].startswith("http://testserver/invitation/")
    path = f"invitations/{made['id']}/"
    assert "link" not in ask(token, "get", path)
    browser = sign_in(Client(), make_user("Rui"))
    browser.get(made["link"])
    assert browser.post("/invitation/").status_code == 302
    assert ask(token, "get", path)["state"] == "used"
    ask(token, "post", f"{path}revoke/", status=409)


def test_invitations_are_listed_and_taken_back(token: str) -> None:
    for name in ("a", "b"):
        ask(token, "post", "invitations/", {"email": f"{name}@example.org", "role": "member"}, status=201)
    first = Invitation.objects.get(email="a@example.org")
    assert ask(token, "post", f"invitations/{first.pk}/revoke/")["state"] == "revoked"
    assert [row["email"] for row in ask(token, "get", "invitations/")["items"]] == ["b@example.org"]
    states = [row["state"] for row in ask(token, "get", "invitations/?all=true")["items"]]
    assert states == ["open", "revoked"]


def test_a_bad_address_is_told_by_field(token: str) -> None:
    found = ask(token, "post", "invitations/", {"email": "no address", "role": "member"}, status=400)
    assert found["errors"].keys() == {"email"}
