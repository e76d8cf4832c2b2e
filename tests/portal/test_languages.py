"""Languages: how one is chosen, and what follows it: pages, regions, sockets, mails, but not the trail."""

from __future__ import annotations

import pytest
from celery.signals import task_prerun
from channels.db import database_sync_to_async
from django.conf import settings
from django.test import Client
from django.utils import translation

import portal.celery  # noqa: F401  # connects to Celery's signals
from portal.asgi import application
from portal.lib import crypto
from tenants.models import AuditEvent, Membership, OutboxMail, Tenant, User
from tenants.services import invitations
from tenants.services.people import keep_language
from tests.builders import actor_for, make_tenant, make_user, sign_in
from tests.sockets import Socket

pytestmark = pytest.mark.django_db
GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


def lang_of(client: Client, path: str = "/", **headers: str) -> str:
    page = client.get(path, headers=headers).content.decode()
    return page.partition('<html lang="')[2].partition('"')[0]


def test_the_browser_asks_and_the_choice_decides(client: Client) -> None:
    assert lang_of(client) == "en"
    assert lang_of(client, **GERMAN) == "de"
    assert lang_of(client, **{"Accept-Language": "fr"}) == "en"
    client.post("/language/", {"language": "en"})
    assert lang_of(client, **GERMAN) == "en"
    client.post("/language/", {"language": "de"})
    assert lang_of(client, **{"Accept-Language": "en"}) == "de"
    assert lang_of(client, "/nothing/at/all/") == "de"


def test_each_plain_page_offers_the_other_language(client: Client) -> None:
    for path in ("/", "/nothing/at/all/"):
        assert 'value="de" lang="de">Deutsch<' in client.get(path).content.decode()
        assert 'value="en" lang="en">English<' in client.get(path, headers=GERMAN).content.decode()


def test_a_choice_leads_back_and_only_back(client: Client) -> None:
    sent = {"language": "de"}
    back = client.post("/language/", sent, headers={"Referer": "http://testserver/welcome/?a=1"})
    assert (back.status_code, back["Location"]) == (302, "http://testserver/welcome/?a=1")
    assert client.post("/language/", sent, headers={"Referer": "http://evil.example/"})["Location"] == "/"
    assert client.post("/language/", sent | {"next": "//evil.example"})["Location"] == "/"
    assert client.get("/language/").status_code == 405
    cookie = client.cookies[settings.LANGUAGE_COOKIE_NAME]
    assert (cookie["samesite"], cookie["max-age"]) == ("Lax", settings.LANGUAGE_COOKIE_AGE)


def test_a_choice_is_kept_on_the_person(client: Client, ada: User) -> None:
    sign_in(client, ada)
    client.post("/language/", {"language": "xx"})
    ada.refresh_from_db()
    assert ada.language == ""
    client.post("/language/", {"language": "de"})
    ada.refresh_from_db()
    assert ada.language == "de"


def test_words_of_the_page_and_its_script_follow(client: Client, ada: User, tenant: Tenant) -> None:
    sign_in(client, ada)
    page = client.get("/t/aurora/members/", headers=GERMAN).content.decode()
    assert "Mitglieder" in page
    assert "Inhaber" in page
    assert 'data-say-sending="Wird gesendet …"' in page
    assert "Members" not in page


def test_a_live_region_has_a_version_for_each_language(client: Client, ada: User, tenant: Tenant) -> None:
    sign_in(client, ada)
    url = f"/t/aurora/live/members/{tenant.pk}/"
    english = client.get(url)
    german = client.get(url, headers={**GERMAN, "If-None-Match": english["ETag"]})
    assert german.status_code == 200
    assert "Mitglied seit" in german.content.decode()
    assert german["ETag"] != english["ETag"]
    assert "Accept-Language" in german["Vary"]
    assert client.get(url, headers={**GERMAN, "If-None-Match": german["ETag"]}).status_code == 304


@pytest.mark.django_db(transaction=True)
async def test_a_socket_speaks_the_language_of_its_page() -> None:
    _ada, tenant, cookie = await database_sync_to_async(_prepare)()
    said = {}
    for name, more in (
        ("de", ("accept-language", "de")),
        ("en", ("accept-language", "en")),
        ("cookie", None),
    ):
        headers = [(b"origin", settings.SOCKET_ORIGINS[0].encode()), (b"cookie", cookie)]
        if more:
            headers.append((more[0].encode(), more[1].encode()))
        else:
            headers[1] = (b"cookie", cookie + b"; django_language=de")
        socket = Socket(application, f"/ws/t/aurora/?topic=members:{tenant.pk}", headers)
        assert await socket.connect()
        said[name] = await socket.receive_text()
        await socket.disconnect()
    assert "Mitglied seit" in said["de"]
    assert "Member since" in said["en"]
    assert said["cookie"] == said["de"]


def _prepare() -> tuple[User, Tenant, bytes]:
    ada = make_user("Ada")
    tenant = make_tenant("Aurora", owner=ada)
    name = settings.SESSION_COOKIE_NAME
    return ada, tenant, f"{name}={sign_in(Client(), ada).cookies[name].value}".encode()


def test_a_mail_is_in_the_language_of_who_reads_it(ada: User, tenant: Tenant) -> None:
    rui = make_user("Rui")
    keep_language(rui, "de")
    for address in ("rui@example.org", "new@example.org"):
        invitations.invite(actor=actor_for(ada, tenant), email=address, role="member")
    mails = {mail.to: mail for mail in OutboxMail.objects.all()}
    texts = {to: crypto.unseal(bytes(mail.sealed_body or b"")).decode() for to, mail in mails.items()}
    assert mails["rui@example.org"].subject == "Ada lädt Sie zu Aurora ein"
    assert "Ihre Rolle dort: Mitglied." in texts["rui@example.org"]
    assert mails["new@example.org"].subject == "Ada invites you to Aurora"
    assert "Your role there: Member." in texts["new@example.org"]


def test_the_trail_is_in_one_language_whoever_acts(client: Client, ada: User, tenant: Tenant) -> None:
    sign_in(client, ada)
    sent = {"email": "rui@example.org", "role": "member"}
    assert client.post("/t/aurora/members/invite/", sent, headers=GERMAN).status_code == 302
    event = AuditEvent.objects.get(verb="invitation.made")
    assert event.target_label == "Invitation of rui@example.org"
    assert "Einladung von rui@example.org" in client.get("/t/aurora/audit/", headers=GERMAN).content.decode()
    export = client.post("/t/aurora/audit/export/", {"format": "csv"}, headers=GERMAN)
    assert b"made the,invitation.made" in export.getvalue()


def test_refusals_are_in_the_readers_language(client: Client, ada: User, tenant: Tenant) -> None:
    sign_in(client, ada)
    alone = Membership.objects.get(user=ada)
    answer = client.post(f"/t/aurora/members/{alone.pk}/remove/", headers=GERMAN)
    assert answer.status_code == 409
    assert "Ein Mandant muss einen Inhaber behalten" in answer.content.decode()


def test_a_worker_speaks_one_language() -> None:
    translation.activate("de")
    task_prerun.send(sender=None)
    assert translation.get_language() == settings.LANGUAGE_CODE
