"""Error pages: what happened, what was kept, what to do; never a stack trace, and 404 is always the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, override_settings
from django.urls import include, path

from portal.lib.errors import (
    BadInput,
    FreeholdError,
    NotAllowed,
    NotVisible,
    PermanentError,
    TemporaryError,
    WrongState,
)
from tests.builders import make_tenant, make_user, sign_in

pytestmark = pytest.mark.django_db
ERRORS: dict[str, Exception] = {
    "400": BadInput("That cannot be."),
    "403": NotAllowed("Your role may not do that.", hint="Ask an owner."),
    "404": NotVisible(),
    "409": WrongState("It is cancelled already."),
    "502": PermanentError("Broken", "The other side is broken."),
    "503": TemporaryError("NotReachable", "The other side does not answer."),
    "500": FreeholdError("Odd."),
    "bug": RuntimeError("secret words of a bug"),
}


def raising(request: HttpRequest, kind: str) -> HttpResponse:
    raise ERRORS[kind]


urlpatterns = [path("raise/<str:kind>/", raising), path("", include("portal.urls"))]
handler400 = "portal.web.errors.bad_request"
handler404 = "portal.web.errors.not_found"
handler500 = "portal.web.errors.server_error"


@pytest.fixture(autouse=True)
def urls() -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__):
        yield


@pytest.mark.parametrize("kind", ["400", "403", "404", "409", "500", "502", "503"])
def test_each_error_has_its_page_and_status(client: Client, kind: str) -> None:
    answer = client.get(f"/raise/{kind}/")
    assert answer.status_code == int(kind)
    text = answer.content.decode()
    error = ERRORS[kind]
    assert isinstance(error, FreeholdError)
    assert "<h1" in text
    assert "Traceback" not in text
    if kind not in {"404", "500"}:
        assert error.message in text


@pytest.mark.parametrize("kind", ["400", "403", "404", "409", "503"])
def test_an_htmx_request_gets_a_toast_and_keeps_its_page(client: Client, kind: str) -> None:
    answer = client.post(f"/raise/{kind}/", headers={"HX-Request": "true"})
    assert answer.status_code == int(kind)
    assert answer["HX-Reswap"] == "none"
    assert b'id="toasts"' in answer.content
    assert b"<html" not in answer.content


def test_a_bug_shows_no_trace_and_no_words_of_it(client: Client) -> None:
    client.raise_request_exception = False
    answer = client.get("/raise/bug/")
    assert answer.status_code == 500
    assert b"secret words" not in answer.content
    assert answer["X-Request-ID"].encode() in answer.content


def test_what_is_not_visible_looks_like_what_does_not_exist(client: Client) -> None:
    make_tenant("Boreas", owner=make_user("Olga"))
    sign_in(client, make_user("Ada"))
    pages = {
        url: _plain(client.get(url))
        for url in ("/t/boreas/members/", "/t/nothing/members/", "/nothing/at/all/", "/raise/404/")
    }
    assert len(set(pages.values())) == 1
    assert next(iter(pages.values()))[0] == 404


def test_a_form_from_before_the_sign_in_says_what_to_do() -> None:
    careful = Client(enforce_csrf_checks=True)
    sign_in(careful, make_user("Ada"))
    answer = careful.post("/welcome/", {"name": "x"})
    assert answer.status_code == 403
    assert b"Go back" in answer.content
    toast = careful.post("/welcome/", {"name": "x"}, headers={"HX-Request": "true"})
    assert (toast.status_code, b"reload" in toast.content) == (403, True)


def test_a_form_that_comes_after_the_session_ended_is_not_lost_silently(client: Client) -> None:
    make_tenant("Aurora", owner=make_user("Ada"))
    url = "/t/aurora/members/invite/"
    answer = client.post(url, {"email": "x@example.org"}, headers={"Referer": f"http://testserver{url}?a=1"})
    assert answer.status_code == 401
    assert b"was not done" in answer.content
    assert b"next=%2Ft%2Faurora%2Fmembers%2Finvite%2F%3Fa%3D1" in answer.content
    elsewhere = client.post(url, {}, headers={"Referer": "http://evil.example/x/"})
    assert b"next=%2F&quot;" in elsewhere.content or b'next=%2F"' in elsewhere.content
    assert client.get(url)["Location"] == "/signin/?next=%2Ft%2Faurora%2Fmembers%2Finvite%2F"
    assert client.get(url, headers={"HX-Request": "true"}).status_code == 401


def _plain(answer: HttpResponseBase) -> tuple[int, str]:
    """The page without what differs in every answer."""
    text = getattr(answer, "content", b"").decode().replace(answer["X-Request-ID"], "ID")
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "CSRF", text)
    return answer.status_code, re.sub(r'(nonce=|data-now=)"[^"]*"', "", text)
