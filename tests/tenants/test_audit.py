"""The tenant's audit page: who did what, when, from where."""

from __future__ import annotations

import pytest
from django.test import Client

from tenants.audit import register_verbs, words_of
from tenants.commands import command
from tenants.models import AuditEvent, Tenant, User
from tests.builders import actor_for, make_tenant, make_user, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_user("Ada <i>")


def act(ada: User, tenant: Tenant, verb: str = "member.left", count: int = 1) -> None:
    for _ in range(count):
        with command(
            verb, actor=actor_for(ada, tenant), target=tenant, detail={"role": {"old": "", "new": "x"}}
        ):
            pass


def test_it_says_who_did_what_from_where(client: Client, ada: User, tenant: Tenant) -> None:
    act(ada, tenant)
    sign_in(client, ada)
    page = client.get("/t/aurora/audit/").content.decode()
    assert "Ada &lt;i&gt;" in page
    assert "left the tenant" in page
    assert "192.0.2.7" in page
    assert "role: (none) → x" in page


def test_another_tenants_events_are_not_there(client: Client, ada: User, tenant: Tenant) -> None:
    other = make_tenant("Boreas", owner=(olga := make_user("Olga")))
    act(olga, other)
    act(ada, tenant)
    sign_in(client, ada)
    assert b"Olga" not in client.get("/t/aurora/audit/").content
    assert b"Olga" in sign_in(Client(), olga).get("/t/boreas/audit/").content


def test_pages_follow_the_key_without_gap_or_repetition(client: Client, ada: User, tenant: Tenant) -> None:
    act(ada, tenant, count=120)
    sign_in(client, ada)
    seen: list[int] = []
    query: dict[str, int] = {}
    while True:
        page = client.get("/t/aurora/audit/", query)
        seen += [event.pk for event in page.context["events"]]
        act(ada, tenant)  # newer ones do not move the pages
        if page.context["older"] is None:
            break
        query = {"before": page.context["older"]}
    assert len(seen) == 120
    assert seen == sorted(set(seen), reverse=True)


@pytest.mark.parametrize("before", ["x", "-1", "9" * 40, "1e3", "²"])
def test_odd_keys_show_the_newest(client: Client, ada: User, tenant: Tenant, before: str) -> None:
    act(ada, tenant)
    sign_in(client, ada)
    assert len(client.get("/t/aurora/audit/", {"before": before}).context["events"]) == 1


def test_it_is_searched(client: Client, ada: User, tenant: Tenant) -> None:
    act(ada, tenant, "order.approved")
    act(ada, tenant, "member.left")
    sign_in(client, ada)
    found = client.get("/t/aurora/audit/", {"q": "order."}).context["events"]
    assert [event.verb for event in found] == ["order.approved"]
    assert b"Nothing fits" in client.get("/t/aurora/audit/", {"q": "zzz"}).content
    assert client.get("/t/aurora/audit/", {"q": "\0zzz"}).status_code == 400


def test_verbs_read_as_registered_or_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenants.audit._WORDS", {})
    register_verbs({"tests.done": "did it"})
    assert words_of("tests.done") == "did it"
    assert words_of("order.was_odd") == "order was odd"


def test_an_error_leaves_no_event(ada: User, tenant: Tenant) -> None:
    with pytest.raises(ValueError, match="no"), command("member.left", actor=actor_for(ada, tenant)):
        raise ValueError("no")
    assert not AuditEvent.objects.exists()
