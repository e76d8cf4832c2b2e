"""Founding a tenant, and where a person lands."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from portal.lib.errors import BadInput, WrongState
from tenants.models import AuditEvent, Membership, Tenant
from tenants.services import tenants as service
from tests.builders import actor_for, make_member, make_operator, make_tenant, make_user, sign_in
from tests.cases import case

pytestmark = pytest.mark.django_db
GOOD = {"name": "Aurora Lab", "slug": "aurora", "terms": "on"}


def test_a_new_person_founds_a_tenant_and_owns_it(client: Client) -> None:
    ada = make_user("Ada")
    sign_in(client, ada)
    assert client.get("/welcome/").status_code == 200
    answer = client.post("/welcome/", GOOD)
    assert (answer.status_code, answer["Location"]) == (302, "/t/aurora/")
    tenant = Tenant.objects.get()
    assert actor_for(ada, tenant).role == "owner"
    event = AuditEvent.objects.get(verb="tenant.founded")
    assert (event.tenant, event.actor_user, event.target_label) == (tenant, ada, "Aurora Lab")


def test_sent_twice_it_is_one_tenant(client: Client) -> None:
    sign_in(client, make_user("Ada"))
    assert client.post("/welcome/", GOOD)["Location"] == client.post("/welcome/", GOOD)["Location"]
    assert Tenant.objects.count() == Membership.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\x07b"}, "name"),
        ({"slug": "ab"}, "slug"),
        ({"slug": "a" * 41}, "slug"),
        ({"slug": "Aurora"}, "slug"),
        ({"slug": "au--rora"}, "slug"),
        ({"slug": "-aurora"}, "slug"),
        ({"slug": "aurora-"}, "slug"),
        ({"slug": "aurora/x"}, "slug"),
        ({"slug": "operations"}, "slug"),
        ({"slug": "taken"}, "slug"),
        ({"terms": ""}, "terms"),
    ],
)
def test_each_field_has_its_message_and_what_was_typed_stays(
    client: Client, change: dict[str, str], field: str
) -> None:
    make_tenant("Taken", slug="taken")
    sign_in(client, make_user("Ada"))
    sent = GOOD | change
    answer = client.post("/welcome/", sent)
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]
    assert answer.context["form"]["name"].value() == sent["name"]
    assert answer.context["form"]["slug"].value() == sent["slug"]
    assert Tenant.objects.count() == 1
    assert client.post("/welcome/", GOOD).status_code == 302


def test_a_slug_is_suggested_that_is_free_and_good() -> None:
    assert service.suggest_slug("Labor für Ümläute & Co.") == "labor-fur-umlaute-co"
    assert service.suggest_slug("数据") == "tenant-lab"
    assert service.suggest_slug("Admin") == "admin-lab"
    make_tenant("Aurora", slug="aurora")
    other = service.suggest_slug("Aurora")
    assert other.startswith("aurora-")
    assert service.SLUG.fullmatch(other)
    assert service.SLUG.fullmatch(service.suggest_slug("x " * 60))


def test_a_short_name_that_is_left_blank_is_proposed_and_seen_before_it_holds(client: Client) -> None:
    make_tenant("Mia Lab", slug="mia-lab")
    sign_in(client, make_user("Mia"))
    sent = {"name": "Mia Lab", "slug": " ", "terms": "on"}
    asked = client.post("/welcome/", sent)
    assert asked.status_code == 400
    proposed = asked.context["form"]["slug"].value()
    assert re.fullmatch(r"mia-lab-[0-9a-f]{4}", proposed)
    assert "Made of the name" in asked.content.decode()
    assert Tenant.objects.count() == 1
    assert client.post("/welcome/", {**sent, "slug": proposed})["Location"] == f"/t/{proposed}/"
    nothing = client.post("/welcome/", {"name": "", "slug": "", "terms": "on"})
    assert set(nothing.context["form"].errors) == {"name"}


def test_one_person_founds_a_bounded_number() -> None:
    ada = make_user("Ada")
    for number in range(service.MOST_OWNED):
        service.found_tenant(actor=actor_for(ada), name="Lab", slug=f"lab-{number}", terms_accepted=True)
    with pytest.raises(WrongState):
        service.found_tenant(actor=actor_for(ada), name="Lab", slug="lab-more", terms_accepted=True)


def test_a_taken_slug_is_refused_with_a_suggestion() -> None:
    make_tenant("Aurora", slug="aurora")
    with pytest.raises(BadInput) as refused:
        service.found_tenant(
            actor=actor_for(make_user("Ada")), name="Aurora", slug="aurora", terms_accepted=True
        )
    assert "aurora-" in refused.value.fields["slug"]


@case("U32")
def test_where_a_person_lands(client: Client) -> None:
    assert b"Sign in" in client.get("/").content
    ada = make_user("Ada")
    sign_in(client, ada)
    assert client.get("/")["Location"] == "/welcome/"
    assert b"do not belong to one yet" in client.get("/welcome/").content
    aurora = make_tenant("Aurora", owner=ada)
    assert client.get("/")["Location"] == "/t/aurora/"
    boreas = make_tenant("Boreas", slug="boreas")
    make_member(boreas, "viewer", user=ada)
    page = client.get("/").content
    assert b"/t/aurora/" in page
    assert b"/t/boreas/" in page
    Membership.objects.filter(tenant=aurora).update(ended_at=aurora.created_at)
    assert client.get("/")["Location"] == "/t/boreas/"


@case("U32")
def test_each_tab_acts_in_the_tenant_of_its_address(client: Client) -> None:
    ada = make_user("Ada")
    make_tenant("Aurora", owner=ada)
    make_member(make_tenant("Boreas"), "viewer", user=ada)
    sign_in(client, ada)
    assert client.get("/t/boreas/members/").context["actor"].role == "viewer"
    assert client.get("/t/aurora/members/").context["actor"].role == "owner"
    assert client.get("/t/boreas/members/invite/").status_code == 403
    assert client.get("/t/aurora/members/invite/").status_code == 200


@case("U32")
def test_an_operator_without_a_tenant_works_in_operations_and_sees_no_tenant(client: Client) -> None:
    ada = make_user("Ada")
    make_tenant("Aurora", owner=ada)
    sign_in(client, make_operator())
    assert client.get("/")["Location"] == "/operations/"
    assert client.get("/operations/").status_code == 200
    assert client.get("/t/aurora/members/").status_code == 404
    assert sign_in(Client(), ada).get("/t/aurora/members/").status_code == 200


def test_the_terms_can_be_read_where_they_are_accepted(client: Client, settings: Settings) -> None:
    sign_in(client, make_user("Ada"))
    assert "Read the terms" not in client.get("/welcome/").content.decode()
    settings.TERMS_URL = "https://example.org/terms"
    assert 'href="https://example.org/terms"' in client.get("/welcome/").content.decode()


def test_the_demo_has_terms_to_read_and_nowhere_else_has_them(client: Client, settings: Settings) -> None:
    assert client.get("/demo/terms/").status_code == 404
    settings.MODE = "demo"
    assert (
        "Everybody who reaches the demo can sign in as anybody."
        in client.get("/demo/terms/").content.decode()
    )
