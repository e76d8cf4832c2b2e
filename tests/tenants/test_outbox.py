"""Mails: written with what they tell, sent by a worker to a real (small) server, twice at the very most."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import transaction
from django.test import Client
from pytest_django.fixtures import Settings

from portal.lib import clock
from portal.lib.crypto import unseal
from portal.lib.env import MissingSetting
from portal.lib.errors import WrongState
from portal.lib.mail import mail_settings, one_line
from tenants.models import OutboxMail, Tenant, User
from tenants.services import invitations, outbox
from tenants.tasks import clear_sessions, send_outbox
from tests.builders import actor_for, make_member, make_operator, make_tenant, make_user, sign_in
from tests.cases import case
from tests.tenants.mailing import later, put, send
from tests.tenants.smtp_stub import Stub

pytestmark = pytest.mark.django_db
NAMES = ("数据-训练 🚀", 'it\'s "v2"', "a|b", "site:run/7", "<img src=x onerror=alert(1)>", "$(id)", "=1+1")


def text_of(mail: OutboxMail) -> str:
    assert mail.sealed_body is not None
    return unseal(bytes(mail.sealed_body)).decode()


def test_an_invitation_is_mailed_with_its_link_and_the_link_is_nowhere_in_the_clear(
    client: Client, ada: User, tenant: Tenant, settings: Settings
) -> None:
    settings.PUBLIC_URL = "https://portal.example.org"
    settings.ALLOWED_HOSTS = ["*"]
    sign_in(client, ada)
    sent = {"email": "rui@example.org", "role": "member"}
    answer = client.post("/t/aurora/members/invite/", sent, headers={"host": "evil.example"})
    assert answer.status_code == 302
    mail = OutboxMail.objects.get()
    assert (mail.to, mail.subject, mail.state) == ("rui@example.org", "Ada invites you to Aurora", "waiting")
    link = client.session["invitation_links"][str(mail.about_id)]
    assert link.startswith("https://portal.example.org/invitation/")
    text = text_of(mail)
    assert link in text
    assert "Your role there: Member." in text
    assert "evil.example" not in text
    token = link.rstrip("/").rpartition("/")[2]
    assert token.encode() not in bytes(mail.sealed_body or b"")


def test_what_is_undone_is_not_told(ada: User, tenant: Tenant) -> None:
    with pytest.raises(ValueError, match="no"), transaction.atomic():
        invitations.invite(actor=actor_for(ada, tenant), email="rui@example.org", role="member")
        raise ValueError("no")
    assert not OutboxMail.objects.exists()
    invitations.invite(actor=actor_for(ada, tenant), email="rui@example.org", role="member")
    assert OutboxMail.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_nothing_is_queued() -> None:
    put()
    with pytest.raises(AssertionError):
        outbox.queue_mail(to="rui@example.org", subject="x", template="order.txt", context={}, kind="test")


def test_it_is_sent_once_and_its_text_forgotten(smtp: Stub, ada: User, tenant: Tenant) -> None:
    _, token = invitations.invite(actor=actor_for(ada, tenant), email="rui@example.org", role="member")
    send_outbox()
    (taken,) = smtp.taken
    assert taken["To"] == "rui@example.org"
    assert taken["From"] == "Freehold <no-reply@testserver>"
    assert taken["Auto-Submitted"] == "auto-generated"
    assert invitations.link_of(token) in taken.get_content()
    assert taken.get_content_type() == "text/plain"
    mail = OutboxMail.objects.get()
    assert taken["Message-ID"] == f"<{mail.pk.hex}@testserver>"
    assert (mail.state, mail.sealed_body, mail.attempts, mail.last_error) == ("sent", None, 1, "")
    assert send() == 0
    assert len(smtp.taken) == 1


@case("U03")
@pytest.mark.parametrize("name", NAMES)
def test_any_name_reaches_the_subject_as_text(smtp: Stub, name: str) -> None:
    ada = make_user(name, email="ada@example.org")
    tenant = make_tenant("Lab", slug="lab", owner=ada)
    invitations.invite(actor=actor_for(ada, tenant), email="rui@example.org", role="member")
    assert send() == 1
    (taken,) = smtp.taken
    assert str(taken["Subject"]) == f"{name} invites you to Lab"
    assert name in taken.get_content()


@case("U03")
@pytest.mark.parametrize(
    "bad",
    [
        "Ada\r\nBcc: eve@example.org",
        "Ada\nBcc: eve@example.org",
        "Ada\x0b\x0cX: y",
        "Ada\u2028X: y",
        "Ada\u202eX",
    ],
)
def test_no_header_can_be_smuggled_in(smtp: Stub, bad: str) -> None:
    put(subject=f"{bad} invites you")
    assert send() == 1
    (taken,) = smtp.taken
    assert "Bcc" not in taken
    assert len(smtp.recipients) == 1
    assert str(taken["Subject"]).startswith("Ada ")
    assert str(taken["Subject"]).endswith("invites you")


@pytest.mark.parametrize("to", ["rui@example.org\nBcc: eve@example.org", "rui@example.org, eve@example.org"])
def test_an_address_is_one_address(ada: User, tenant: Tenant, to: str) -> None:
    with pytest.raises(Exception, match="cannot be used"):
        invitations.invite(actor=actor_for(ada, tenant), email=to, role="member")
    assert not OutboxMail.objects.exists()


def test_lines_of_a_head() -> None:
    assert one_line("  a \t b\0c ") == "a b c"
    assert one_line("x" * 300) == "x" * 199 + "…"
    family = "👩\N{ZERO WIDTH JOINER}🔬"
    assert one_line(family) == family


def test_without_a_server_mails_are_stored_and_the_demo_shows_them(
    client: Client, ada: User, tenant: Tenant, settings: Settings
) -> None:
    _, token = invitations.invite(actor=actor_for(ada, tenant), email="rui@example.org", role="member")
    send_outbox()
    assert OutboxMail.objects.get().state == "waiting"
    assert client.get("/demo/mailbox/").status_code == 404
    settings.MODE = "demo"
    page = client.get("/demo/mailbox/").content.decode()
    assert f'href="{invitations.link_of(token)}"' in page
    assert "Ada invites you to Aurora" in page
    for mode in ("production", "test"):
        settings.MODE = mode
        assert client.get("/demo/mailbox/").status_code == 404


def test_the_mailbox_shows_texts_as_text(client: Client, settings: Settings) -> None:
    ada = make_user("<b>Ada</b>", email="ada@example.org")
    tenant = make_tenant("Lab", slug="lab", owner=ada)
    invitations.invite(actor=actor_for(ada, tenant), email="rui@example.org", role="member")
    settings.MODE = "demo"
    page = client.get("/demo/mailbox/").content.decode()
    assert "&lt;b&gt;Ada&lt;/b&gt; invites you" in page
    assert "<b>Ada" not in page


def test_an_invitation_that_is_taken_back_is_not_mailed(smtp: Stub, ada: User, tenant: Tenant) -> None:
    acting = actor_for(ada, tenant)
    kept, _ = invitations.invite(actor=acting, email="eva@example.org", role="member")
    revoked, _ = invitations.invite(actor=acting, email="rui@example.org", role="member")
    invitations.revoke_invitation(actor=acting, invitation=revoked)
    assert send() == 1
    assert [one["To"] for one in smtp.taken] == ["eva@example.org"]
    assert OutboxMail.objects.get(about_id=revoked.pk).last_error == "The invitation was taken back."
    assert OutboxMail.objects.get(about_id=kept.pk).state == "sent"


@pytest.mark.parametrize(
    ("change", "goes"),
    [
        ({}, True),
        ({"email_verified": False}, False),
        ({"email": ""}, False),
        ({"is_active": False}, False),
    ],
)
def test_people_are_told_at_verified_addresses_only(change: dict[str, object], goes: bool) -> None:
    person = make_user("Rui")
    for name, value in change.items():
        setattr(person, name, value)
    with transaction.atomic():
        made = outbox.queue_mail_to(person, subject="x", template="order.txt", context={}, kind="test")
    assert (made is not None) is goes


def test_one_address_is_not_flooded(ada: User, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    acting = actor_for(ada, tenant)

    def invite(address: str) -> None:
        made, _ = invitations.invite(actor=acting, email=address, role="member")
        invitations.revoke_invitation(actor=acting, invitation=made)

    for _ in range(invitations.MOST_A_DAY_TO_ONE):
        invite("rui@example.org")
    with pytest.raises(WrongState, match="24 hours"):
        invite("RUI@example.org")
    monkeypatch.setattr(invitations, "MOST_A_DAY", 6)
    invite("eva@example.org")
    with pytest.raises(WrongState, match="24 hours"):
        invite("more@example.org")
    with later(days=1, seconds=1):
        invite("rui@example.org")


def test_old_mails_are_forgotten() -> None:
    old, new = put(), put()
    OutboxMail.objects.filter(pk=old.pk).update(created_at=clock.now() - outbox.KEEP - dt.timedelta(days=1))
    clear_sessions()
    assert list(OutboxMail.objects.values_list("pk", flat=True)) == [new.pk]


def test_operators_see_what_waits_and_not_the_text(client: Client, ada: User, tenant: Tenant) -> None:
    _, token = invitations.invite(actor=actor_for(ada, tenant), email="rui@example.org", role="member")
    sign_in(client, make_operator())
    mail = OutboxMail.objects.get()
    for url in ("/operations/tenants/outboxmail/", f"/operations/tenants/outboxmail/{mail.pk}/change/"):
        page = client.get(url)
        assert b"rui@example.org" in page.content
        assert token.encode() not in page.content
    sign_in(client, make_member(tenant))
    assert client.get("/operations/tenants/outboxmail/", follow=True).status_code == 403


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("", {}),
        ("smtp://u%40x:p%2Fw@mail.example.org", ("mail.example.org", 587, "u@x", "p/w", False, True)),
        ("smtps://mail.example.org", ("mail.example.org", 465, "", "", True, False)),
        ("smtp+plain://localhost", ("localhost", 25, "", "", False, False)),
    ],
)
def test_the_address_of_a_server(url: str, wanted: object) -> None:
    found = mail_settings(url)
    assert (tuple(found.values()) if found else found) == wanted


@pytest.mark.parametrize(
    "url", ["mail.example.org", "http://x", "smtp://", "smtp+plain://mail.example.org", "smtp://x:port"]
)
def test_an_address_of_no_server_says_what_is_wrong(url: str) -> None:
    with pytest.raises(MissingSetting, match="EMAIL_URL"):
        mail_settings(url)


def test_texts_are_not_escaped_as_html(ada: User, tenant: Tenant) -> None:
    Tenant.objects.update(name="R&D <lab>")
    invitations.invite(actor=actor_for(ada, Tenant.objects.get()), email="rui@example.org", role="member")
    assert '"R&D <lab>"' in text_of(OutboxMail.objects.get())


@pytest.mark.parametrize(
    ("mode", "sent", "told"),
    [
        ("production", True, "The person gets a mail with a link."),
        ("production", False, "No mail leaves this portal"),
        ("demo", False, 'in <a href="/demo/mailbox/">the demo\'s mailbox</a>'),
    ],
)
def test_the_form_says_where_the_mail_goes(
    client: Client, ada: User, tenant: Tenant, settings: Settings, mode: str, sent: bool, told: str
) -> None:
    settings.MODE, settings.MAIL_IS_SENT = mode, sent
    sign_in(client, ada)
    page = client.get("/t/aurora/members/invite/").content.decode().replace("&#x27;", "'")
    assert told in page
    assert ("No mail leaves" in page) is not sent
