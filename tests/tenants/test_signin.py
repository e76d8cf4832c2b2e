"""Signing in through the provider: what is believed, what is refused, and what is left behind."""

from __future__ import annotations

import datetime as dt
import time
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from pytest_django.fixtures import Settings

from portal.lib import clock
from tenants.models import AuditEvent, OidcIdentity, User
from tenants.signin import provider
from tenants.signin.session import HINT_KEY, IDENTITY_KEY, SID_KEY
from tenants.tasks import clear_sessions
from tests.cases import case
from tests.tenants import oidc_stub
from tests.tenants.oidc_stub import Stub

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

pytestmark = pytest.mark.django_db


def begin(client: Client, then: str = "/") -> str:
    answer = client.get("/signin/", {"next": then})
    assert answer.status_code == HTTPStatus.FOUND, answer.content
    return str(answer["Location"])


def come_back(client: Client, stub: Stub, url: str) -> Answer:
    return client.get("/signin/callback/", stub.authorize(url))


def sign_in(client: Client, stub: Stub, then: str = "/") -> Answer:
    return come_back(client, stub, begin(client, then))


def assert_nobody(client: Client, answer: Answer) -> None:
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert b"Start again" in answer.content
    assert IDENTITY_KEY not in client.session
    assert not User.objects.exists()
    assert not OidcIdentity.objects.exists()
    assert not AuditEvent.objects.exists()


def test_a_new_person_signs_in_and_is_known_by_issuer_and_subject(client: Client, stub: Stub) -> None:
    answer = sign_in(client, stub, "/t/aurora/?a=1")
    assert (answer.status_code, answer["Location"]) == (302, "/t/aurora/?a=1")
    identity = OidcIdentity.objects.get(issuer=stub.issuer, subject="ada")
    assert (identity.user.name, identity.user.email) == ("Ada Lindqvist", "ada@example.org")
    assert identity.user.email_verified
    assert client.session[IDENTITY_KEY] == identity.pk
    assert client.session[SID_KEY] == "sid-1"
    assert client.session[HINT_KEY].count(".") == 2
    assert list(AuditEvent.objects.order_by("id").values_list("verb", flat=True)) == [
        "person.registered",
        "person.signed_in",
    ]
    assert AuditEvent.objects.latest("id").address == "127.0.0.1"


def test_the_session_key_changes_at_sign_in(client: Client, stub: Stub) -> None:
    url = begin(client)
    before = client.session.session_key
    come_back(client, stub, url)
    assert client.session.session_key != before


def test_the_request_has_pkce_state_nonce_and_our_callback(client: Client, stub: Stub) -> None:
    query = parse_qs(urlsplit(begin(client)).query)
    assert query["redirect_uri"] == [f"{settings.PUBLIC_URL}/signin/callback/"]
    assert query["response_type"] == ["code"]
    assert len(query["code_challenge"][0]) == 43
    assert set(query["scope"][0].split()) == {"openid", "email", "profile"}


def test_who_is_signed_in_goes_on(client: Client, stub: Stub) -> None:
    sign_in(client, stub)
    answer = client.get("/signin/", {"next": "/t/aurora/"})
    assert (answer.status_code, answer["Location"]) == (302, "/t/aurora/")


@case("U24")
def test_wrong_missing_and_reused_answers_leave_nobody(client: Client, stub: Stub) -> None:
    back = stub.authorize(begin(client))
    assert_nobody(client, client.get("/signin/callback/", back | {"state": "another"}))
    assert_nobody(client, client.get("/signin/callback/", {"code": back["code"]}))
    assert_nobody(client, client.get("/signin/callback/"))
    assert client.get("/signin/callback/", back).status_code == HTTPStatus.FOUND
    assert User.objects.count() == 1
    other = Client()
    url = begin(other)
    used = back | {"state": parse_qs(urlsplit(url).query)["state"][0]}
    answer = other.get("/signin/callback/", used)
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert IDENTITY_KEY not in other.session
    again = client.get("/signin/callback/", back)
    assert again.status_code == HTTPStatus.BAD_REQUEST
    assert b"Go on" in again.content


@case("U24")
@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        ({"nonce": None}, "absent nonce"),
        ({"nonce": "another"}, "another nonce"),
        ({"aud": "someone-else"}, "another audience"),
        ({"aud": "someone-else", "azp": "freehold"}, "another audience with us as the party"),
        ({"aud": ["freehold", "someone-else"]}, "two audiences and no party"),
        ({"iss": "https://issuer.evil.example"}, "another issuer"),
        ({"exp": 1}, "ended long ago"),
        ({"exp": None}, "no end"),
        ({"iat": 4102444800}, "from the far future"),
        ({"sub": None}, "no subject"),
        ({"sub": ""}, "empty subject"),
        ({"sub": 7}, "a number as subject"),
        ({"sub": "a" * 256}, "a subject too long"),
        ({"sub": "a\nb"}, "a line break in the subject"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_token_that_does_not_fit_leaves_nobody(
    client: Client, stub: Stub, overrides: dict[str, object], why: str
) -> None:
    stub.overrides = overrides
    assert_nobody(client, sign_in(client, stub))
    stub.overrides = {}
    assert sign_in(client, stub).status_code == HTTPStatus.FOUND, f"{why}: the same without it is accepted"


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_a_token_not_signed_by_the_providers_key_leaves_nobody(
    client: Client, stub: Stub, algorithm: str
) -> None:
    stub.algorithm = algorithm
    assert_nobody(client, sign_in(client, stub))
    stub.algorithm = "RS256"
    assert sign_in(client, stub).status_code == HTTPStatus.FOUND


def test_an_answer_without_an_id_token_leaves_nobody(client: Client, stub: Stub) -> None:
    stub.no_id_token = True
    assert_nobody(client, sign_in(client, stub))


@case("U24")
def test_a_clock_45_seconds_ahead_is_accepted_and_10_minutes_past_the_end_is_not(
    client: Client, stub: Stub
) -> None:
    now = int(time.time())
    stub.overrides = {"iat": now - 900, "exp": now - 600}
    assert_nobody(client, sign_in(client, stub))
    stub.overrides = {"iat": now + 45, "exp": now + 345}
    assert sign_in(client, stub).status_code == HTTPStatus.FOUND


@case("U24")
def test_two_tabs_both_work(client: Client, stub: Stub) -> None:
    first, second = begin(client, "/one/"), begin(client, "/two/")
    assert come_back(client, stub, first)["Location"] == "/one/"
    assert come_back(client, stub, second)["Location"] == "/two/"
    assert OidcIdentity.objects.count() == 1


@case("U24")
@pytest.mark.parametrize(
    "then",
    [
        "//evil.example",
        r"/\evil.example",
        "https://evil.example/",
        "/signin/?next=/signin/?next=/signin/?next=/signin/?next=/x/",
        "/" + "x" * 2001,
    ],
)
def test_next_to_elsewhere_goes_home(client: Client, stub: Stub, then: str) -> None:
    url = begin(client, then)
    assert come_back(client, stub, url)["Location"] == "/"


def test_what_waits_in_an_anonymous_session_is_bounded(client: Client, stub: Stub) -> None:
    urls = [begin(client) for _ in range(14)]
    waiting = [key for key in dict(client.session.items()) if key.startswith("_state_")]
    assert len(waiting) == 10
    assert come_back(client, stub, urls[-1]).status_code == HTTPStatus.FOUND


def test_the_person_refuses_at_the_provider(client: Client, stub: Stub) -> None:
    state = parse_qs(urlsplit(begin(client)).query)["state"][0]
    assert_nobody(client, client.get("/signin/callback/", {"error": "access_denied", "state": state}))


@pytest.mark.parametrize("how", ["down", "issuer", "refused"])
def test_a_provider_that_is_down_says_so_and_recovers(client: Client, stub: Stub, how: str) -> None:
    stub.down = how == "down"
    stub.issuer_says = "https://other.example" if how == "issuer" else ""
    port = stub.port
    if how == "refused":
        settings.OIDC["issuer"] = "http://127.0.0.1:9"
    answer = client.get("/signin/", {"next": "/t/aurora/"})
    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert b"not available just now" in answer.content
    assert b"next=/t/aurora/" in answer.content or b"next=%2Ft%2Faurora%2F" in answer.content
    stub.down, stub.issuer_says = False, ""
    settings.OIDC["issuer"] = f"http://127.0.0.1:{port}"
    assert sign_in(client, stub).status_code == HTTPStatus.FOUND


def test_a_provider_that_fails_in_the_middle_leaves_nobody(client: Client, stub: Stub) -> None:
    stub.token_status = 502
    answer = sign_in(client, stub)
    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert not User.objects.exists()


def test_redirects_of_the_provider_are_not_followed(client: Client, stub: Stub) -> None:
    stub.token_status = 302
    assert sign_in(client, stub).status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert not User.objects.exists()


def test_sign_out_ends_both_sessions_and_is_audited(client: Client, stub: Stub) -> None:
    sign_in(client, stub)
    hint = client.session[HINT_KEY]
    assert client.get("/signout/").status_code == HTTPStatus.METHOD_NOT_ALLOWED
    answer = client.post("/signout/")
    target = urlsplit(answer["Location"])
    query = parse_qs(target.query)
    assert f"{target.scheme}://{target.netloc}{target.path}" == f"{stub.issuer}/end"
    assert query["id_token_hint"] == [hint]
    assert query["post_logout_redirect_uri"] == [f"{settings.PUBLIC_URL}/"]
    assert IDENTITY_KEY not in client.session
    assert AuditEvent.objects.latest("id").verb == "person.signed_out"
    assert answer.has_header("Content-Security-Policy")
    assert stub.issuer.split(":")[0] in answer["Content-Security-Policy"]


def test_sign_out_works_while_the_provider_is_down(client: Client, stub: Stub) -> None:
    sign_in(client, stub)
    stub.down = True
    provider.forget()
    assert client.post("/signout/")["Location"] == "/"
    assert IDENTITY_KEY not in client.session


def test_operators_come_from_their_own_issuer(client: Client, stub: Stub, settings: Settings) -> None:
    with oidc_stub.running() as staff:
        settings.OPERATOR_ISSUER = staff.issuer
        settings.OPERATOR_OIDC = {**settings.OIDC, "issuer": staff.issuer}
        assert sign_in(client, stub).status_code == HTTPStatus.FOUND
        assert client.get("/operations/", follow=True).status_code == HTTPStatus.FORBIDDEN
        other = Client()
        assert sign_in(other, staff, "/operations/")["Location"] == "/operations/"
        assert other.get("/operations/").status_code == HTTPStatus.OK
        assert set(OidcIdentity.objects.values_list("issuer", "subject")) == {
            (stub.issuer, "ada"),
            (staff.issuer, "ada"),
        }
        assert other.post("/signout/")["Location"].startswith(f"{staff.issuer}/end?")


def test_an_answer_of_one_issuer_does_not_finish_an_attempt_at_the_other(
    client: Client, stub: Stub, settings: Settings
) -> None:
    with oidc_stub.running() as staff:
        settings.OPERATOR_ISSUER = staff.issuer
        settings.OPERATOR_OIDC = {**settings.OIDC, "issuer": staff.issuer}
        begun = begin(client, "/operations/")
        assert begun.startswith(staff.issuer)
        staff.overrides = {"iss": stub.issuer}
        assert_nobody(client, come_back(client, staff, begun))
        staff.overrides = {}
        assert sign_in(client, staff, "/operations/").status_code == HTTPStatus.FOUND


def test_ended_sessions_are_removed(client: Client, stub: Stub) -> None:
    begin(client)
    Session.objects.update(expire_date=clock.now() - dt.timedelta(seconds=1))
    sign_in(Client(), stub)
    clear_sessions()
    assert Session.objects.count() == 1
