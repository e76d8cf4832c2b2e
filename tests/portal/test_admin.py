"""The operators' site: for operators only, shows everything, changes nothing by itself."""

from __future__ import annotations

import pytest
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, connection, models, transaction
from django.test import Client, RequestFactory

from portal.lib import clock
from tenants.actor import Actor
from tenants.models import AuditEvent, Tenant
from tenants.operations import OperationsAdmin, operations
from tenants.services.tenants import found_tenant
from tests.builders import actor_for, make_operator, make_tenant, make_user, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
REGISTERED = sorted(operations._registry.items(), key=lambda item: item[0]._meta.label)


def names(value: tuple[type[models.Model], ModelAdmin[models.Model]]) -> str:
    return value[0]._meta.label_lower


@pytest.mark.parametrize("entry", REGISTERED, ids=names)
def test_every_model_admin_only_shows(entry: tuple[type[models.Model], ModelAdmin[models.Model]]) -> None:
    _, site_admin = entry
    assert isinstance(site_admin, OperationsAdmin)
    request = RequestFactory().get("/operations/")
    operator = make_operator()
    operator.is_operator = True
    request.user = operator
    request.actor = actor_for(operator)  # type: ignore[attr-defined]
    assert site_admin.has_view_permission(request)
    assert not site_admin.has_add_permission(request)
    assert not site_admin.has_change_permission(request)
    assert not site_admin.has_delete_permission(request)
    assert "delete_selected" not in site_admin.get_actions(request)
    for inline in site_admin.get_inline_instances(request):
        assert not inline.has_add_permission(request, None)
        assert not inline.has_change_permission(request)
        assert not inline.has_delete_permission(request)
    request.user = AnonymousUser()
    request.actor = Actor()  # type: ignore[attr-defined]
    assert not site_admin.has_view_permission(request)


@pytest.mark.parametrize("entry", REGISTERED, ids=names)
def test_lists_and_searches_work(
    client: Client, entry: tuple[type[models.Model], ModelAdmin[models.Model]]
) -> None:
    make_tenant("Aurora", owner=make_user("Ada"))
    sign_in(client, make_operator())
    meta = entry[0]._meta
    url = f"/operations/{meta.app_label}/{meta.model_name}/"
    assert client.get(url).status_code == 200
    assert client.get(url, {"q": "aurora"}).status_code == 200
    assert client.get(f"{url}add/").status_code == 403
    row = entry[0]._default_manager.order_by("pk").first()
    if row is not None:
        assert client.get(f"{url}{row.pk}/change/").status_code == 200
        assert client.get(f"{url}{row.pk}/delete/").status_code == 403


def test_lists_have_our_pages_and_badges(client: Client) -> None:
    sign_in(client, make_operator())
    made = [Tenant(name=f"T{i:03}", slug=f"t{i:03}", terms_accepted_at=clock.now()) for i in range(60)]
    made[0].suspended_at = clock.now()
    Tenant.objects.bulk_create(made)
    first = client.get("/operations/tenants/tenant/").content.decode()
    assert "60 tenants · page 1 of 2" in first
    assert 'rel="next" href="?p=2"' in first
    assert 'class="paginator"' not in first
    assert first.count('class="badge tone-green"') == 49
    assert 'class="badge tone-neutral"' in first
    second = client.get("/operations/tenants/tenant/", {"p": "2", "q": "t"}).content.decode()
    assert 'rel="prev" href="?p=1&amp;q=t"' in second
    assert 'rel="next"' not in second


def test_no_password_pages_and_no_form_to_sign_in(client: Client) -> None:
    answer = client.get("/operations/")
    assert answer["Location"].startswith("/operations/login/")
    assert client.get(answer["Location"])["Location"] == "/signin/?next=%2Foperations%2F"
    sign_in(client, make_user("Ada"))
    refused = client.get("/operations/", follow=True)
    assert refused.status_code == 403
    assert b"operator account" in refused.content
    sign_in(client, make_operator())
    assert client.get("/operations/").status_code == 200
    assert client.get("/operations/password_change/").status_code == 404


def test_an_operators_look_stands_in_the_tenants_audit_trail(client: Client) -> None:
    ada = make_user("Ada")
    tenant = make_tenant("Aurora", owner=ada)
    sign_in(client, make_operator())
    for _ in range(2):
        assert client.get(f"/operations/tenants/tenant/{tenant.pk}/change/").status_code == 200
    event = AuditEvent.objects.get(verb="operator.looked")
    assert (event.tenant, event.actor_kind, event.via) == (tenant, "operator", "admin")
    page = sign_in(Client(), ada).get("/t/aurora/audit/").content
    assert b"looked at" in page
    assert b"Operator" in page


def test_the_audit_trail_in_operations_is_searched_by_verb_person_and_tenant(client: Client) -> None:
    found_tenant(actor=actor_for(make_user("Ada")), name="Aurora", slug="aurora", terms_accepted=True)
    sign_in(client, make_operator())
    for q in ("tenant.founded", "Ada", "Aurora", "aurora"):
        page = client.get("/operations/tenants/auditevent/", {"q": q})
        assert [event.verb for event in page.context["events"]] == ["tenant.founded"]
    assert b"Nothing fits" in client.get("/operations/tenants/auditevent/", {"q": "zzz"}).content


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tenants_auditevent SET verb = 'x'",
        "DELETE FROM tenants_auditevent",
        "SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL freehold.flush = ''; TRUNCATE tenants_auditevent",
    ],
)
def test_the_database_refuses_to_change_the_audit_trail(statement: str) -> None:
    found_tenant(actor=actor_for(make_user("Ada")), name="Aurora", slug="aurora", terms_accepted=True)
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert AuditEvent.objects.filter(verb="tenant.founded").count() == 1
    assert Tenant.objects.count() == 1
