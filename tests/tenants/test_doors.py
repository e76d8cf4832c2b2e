"""The doors of views, the actor of a request and the read-only snapshot of a GET."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import InternalError, connection, transaction
from django.http import HttpResponse
from django.test import Client, RequestFactory

from portal.lib.errors import NotVisible
from tenants.live.kinds import MEMBERS
from tenants.live.topics import publish, version_of
from tenants.models import OidcIdentity, Tenant
from tenants.web import in_tenant, reading, safe_next
from tests.builders import actor_for, make_member, make_operator, make_tenant, make_user, sign_in
from tests.cases import case

pytestmark = pytest.mark.django_db


def test_a_member_is_within_the_tenant_of_the_address() -> None:
    tenant = make_tenant(owner=make_user("Ada"))
    rui = make_member(tenant)
    actor = actor_for(rui, tenant)
    assert (actor.tenant, actor.role) == (tenant, "member")
    with pytest.raises(NotVisible):
        actor_for(make_user("Olga"), tenant)


def test_suspended_tenant_and_ended_membership_are_not_visible() -> None:
    tenant = make_tenant(owner=(ada := make_user("Ada")))
    actor_for(ada, tenant)
    Tenant.objects.filter(pk=tenant.pk).update(suspended_at=tenant.created_at)
    with pytest.raises(NotVisible):
        actor_for(ada, tenant)
    Tenant.objects.filter(pk=tenant.pk).update(suspended_at=None)
    ada.memberships.update(ended_at=tenant.created_at)
    with pytest.raises(NotVisible):
        actor_for(ada, tenant)


@case("U36")
def test_a_get_that_writes_is_refused_by_the_database_and_the_next_write_is_not() -> None:
    request = RequestFactory().get("/")
    with pytest.raises(InternalError, match="read-only"), reading(request):
        make_user("Never")
    make_user("Later")
    assert OidcIdentity.objects.filter(user__name="Later").exists()


def test_a_post_may_write() -> None:
    with reading(RequestFactory().post("/")):
        make_user("Ada")
    assert OidcIdentity.objects.filter(user__name="Ada").exists()


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("/t/aurora/jobs/?q=1", "/t/aurora/jobs/?q=1"),
        ("//evil.example", "/"),
        (r"/\evil.example", "/"),
        ("https://evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("\t//evil.example", "/"),
        ("/t/" + "a" * 2000, "/"),
        ("", "/"),
        (None, "/"),
    ],
)
def test_next_stays_inside_the_portal_and_bounded(target: str | None, wanted: str) -> None:
    assert safe_next(RequestFactory().get("/"), target) == wanted


def test_the_door_takes_the_tenant_out_of_the_arguments() -> None:
    tenant = make_tenant(owner=(ada := make_user("Ada")))
    request = RequestFactory().get("/")
    request.actor = actor_for(ada)  # type: ignore[attr-defined]
    seen = in_tenant(lambda request, pk: HttpResponse(f"{request.actor.tenant} {pk}"))(
        request, tenant=tenant.slug, pk=7
    )
    assert isinstance(seen, HttpResponse)
    assert seen.content == b"Aurora Lab 7"


def test_an_operator_is_known_at_each_request(client: Client) -> None:
    sign_in(client, make_operator())
    assert client.get("/operations/").status_code == 200
    client.logout()
    sign_in(client, make_user("Ada"))
    assert client.get("/operations/", follow=False).status_code in {302, 403}


@pytest.mark.django_db(transaction=True)
def test_a_page_reads_one_snapshot_so_that_rows_and_versions_belong_together() -> None:
    tenant = make_tenant(owner=make_user("Ada"))
    topic = MEMBERS.topic(tenant)
    with reading(RequestFactory().get("/")):
        before = Tenant.objects.get(pk=tenant.pk).name, version_of(topic)
        with ThreadPoolExecutor(1) as other:
            other.submit(_rename, tenant).result()
        assert (Tenant.objects.get(pk=tenant.pk).name, version_of(topic)) == before
    assert (Tenant.objects.get(pk=tenant.pk).name, version_of(topic)) == ("Renamed", 1)


@pytest.mark.django_db(transaction=True)
def test_a_dead_redis_does_not_fail_what_was_committed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def dead() -> None:
        asked.set()
        raise ConnectionError("no Redis")

    monkeypatch.setattr("tenants.live.sender.get_channel_layer", dead)
    ada = make_user("Ada")
    tenant = make_tenant(owner=ada)
    sign_in(client, ada)
    url = f"/t/{tenant.slug}/members/invite/"
    assert client.post(url, {"email": "rui@example.org", "role": "member"}).status_code == 302
    assert version_of(MEMBERS.topic(tenant)) == 1
    assert asked.wait(10)
    assert client.get(f"/t/{tenant.slug}/members/").status_code == 200
    # and the sender lives on: the next change is tried again
    asked.clear()
    assert client.post(url, {"email": "eva@example.org", "role": "member"}).status_code == 302
    assert asked.wait(10)


def _rename(tenant: Tenant) -> None:
    try:
        with transaction.atomic():
            Tenant.objects.filter(pk=tenant.pk).update(name="Renamed")
            publish(MEMBERS.topic(tenant))
    finally:
        connection.close()
