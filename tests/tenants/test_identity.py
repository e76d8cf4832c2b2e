"""Who a person is: issuer and subject; what their address may and may not decide."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from portal.lib.errors import NotAllowed
from tenants.actor import Actor
from tenants.models import AuditEvent, OidcIdentity, User
from tenants.services.people import sign_in_person
from tenants.signin.claims import Claims, claims_from, is_of_domain
from tenants.signin.session import is_operator
from tests.builders import make_user, sign_in
from tests.cases import case
from tests.tenants.oidc_stub import Stub
from tests.tenants.test_signin import sign_in as through_provider

pytestmark = pytest.mark.django_db
TOKEN = {"iss": "https://issuer.test", "sub": "ada"}


def arrive(**claims: object) -> OidcIdentity:
    told = {"issuer": "https://issuer.test", "subject": "ada", "email_verified": True} | claims
    return sign_in_person(actor=Actor(), claims=Claims(**told))  # type: ignore[arg-type]


@case("U25")
def test_one_account_whose_address_follows_the_issuer() -> None:
    first = arrive(email="Lab.Admin@Example.org")
    second = arrive(email="lab.admin@example.org")
    third = arrive(email="ada@elsewhere.example")
    assert first.user == second.user == third.user
    assert User.objects.get().email == "ada@elsewhere.example"
    told = [event.detail for event in AuditEvent.objects.filter(verb="person.signed_in").order_by("id")]
    assert told[1]["email"] == {"old": "Lab.Admin@Example.org", "new": "lab.admin@example.org"}


@case("U25")
def test_accounts_that_differ_by_case_stay_two_and_are_reported_once() -> None:
    ada, other = arrive(email="ada@example.org"), arrive(subject="other", email="ADA@example.org")
    assert ada.user != other.user
    assert arrive(email="ada@example.org").user == ada.user
    assert arrive(subject="other", email="ADA@example.org").user == other.user
    reports = AuditEvent.objects.filter(verb="person.shares_address")
    assert {(event.target_id, *event.detail["others"]) for event in reports} == {
        (str(ada.user.pk), str(other.user.pk)),
        (str(other.user.pk), str(ada.user.pk)),
    }
    assert reports.count() == 2


@case("U25")
def test_without_an_address_sign_in_works(client: Client, stub: Stub) -> None:
    stub.overrides = {"email": None, "email_verified": None}
    assert through_provider(client, stub).status_code == HTTPStatus.FOUND
    user = User.objects.get()
    assert (user.email, user.email_verified, user.name) == ("", False, "Ada Lindqvist")
    assert client.get("/welcome/").status_code == HTTPStatus.OK


def test_a_person_without_a_name_is_called_by_address_or_subject() -> None:
    assert str(arrive().user) == "ada"
    assert str(arrive(subject="other", email="o@example.org").user) == "o@example.org"
    assert str(arrive(name="Ada Lindqvist").user) == "Ada Lindqvist"


def test_subjects_and_issuers_are_exact() -> None:
    people = {arrive().user, arrive(subject="Ada").user, arrive(issuer="https://issuer.test/").user}
    assert len(people) == 3


@pytest.mark.parametrize(
    ("token", "more", "email", "verified"),
    [
        ({"email": "a@x.org", "email_verified": True}, {}, "a@x.org", True),
        ({"email": "a@x.org", "email_verified": "true"}, {}, "a@x.org", False),
        ({"email": "a@x.org", "email_verified": 1}, {}, "a@x.org", False),
        ({"email": "a@x.org"}, {}, "a@x.org", False),
        ({}, {"email": "a@x.org", "email_verified": True}, "a@x.org", True),
        ({"email": "a@x.org"}, {"email": "A@X.org", "email_verified": True}, "a@x.org", True),
        (
            {"email": "a@x.org", "email_verified": True},
            {"email": "b@x.org", "email_verified": True},
            "a@x.org",
            False,
        ),
        ({"email_verified": True}, {}, "", False),
        ({"email": "not an address", "email_verified": True}, {}, "", False),
        ({"email": ["a@x.org"], "email_verified": True}, {}, "", False),
    ],
)
@case("U25")
def test_an_address_is_verified_only_by_a_real_true_of_who_names_it(
    token: dict[str, object], more: dict[str, object], email: str, verified: bool
) -> None:
    claims = claims_from(TOKEN | token, more, id_token="x")
    assert (claims.email, claims.email_verified) == (email, verified)


@case("U25")
def test_userinfo_is_asked_only_where_the_token_is_silent(client: Client, stub: Stub) -> None:
    stub.userinfo = {"sub": "ada", "email": "b@example.org", "email_verified": True}
    through_provider(client, stub)
    assert "/userinfo" not in stub.asked
    assert User.objects.get().email_verified
    stub.overrides = {"name": None}
    through_provider(Client(), stub)
    assert "/userinfo" in stub.asked
    user = User.objects.get()
    assert (user.email, user.email_verified) == ("ada@example.org", False)


def test_userinfo_about_someone_else_is_refused(client: Client, stub: Stub) -> None:
    stub.overrides = {"email": None}
    stub.userinfo = {"sub": "eve", "email": "ada@example.org", "email_verified": True}
    assert through_provider(client, stub).status_code == HTTPStatus.BAD_REQUEST
    assert not User.objects.exists()
    stub.userinfo["sub"] = "ada"
    assert through_provider(client, stub).status_code == HTTPStatus.FOUND


@pytest.mark.parametrize("name", ["<script>x</script>", "Zoë 数据 🚀", "a\x00b\nc", "x" * 500])
def test_any_name_is_kept_bounded_and_printable(name: str) -> None:
    claims = claims_from(TOKEN | {"name": name}, {}, id_token="x")
    assert claims.name.isprintable()
    assert 0 < len(claims.name) <= 200
    assert arrive(name=claims.name).user.name == claims.name


@case("U27")
@pytest.mark.parametrize("setting", ["example.com", "@Example.com ", " EXAMPLE.COM."])
def test_only_addresses_of_the_allowed_domain(settings: Settings, setting: str) -> None:
    settings.OIDC_ALLOWED_DOMAINS = [setting]
    for number, email in enumerate(("a@example.com", "a@EXAMPLE.COM")):
        assert arrive(subject=f"good-{number}", email=email).pk
    for number, email in enumerate(
        ("a@evilexample.com", "a@example.com.evil.org", "a@sub.example.com", '"a@example.com"@evil.org', "")
    ):
        with pytest.raises(NotAllowed):
            arrive(subject=f"bad-{number}", email=email)
    with pytest.raises(NotAllowed):
        arrive(subject="unproved", email="a@example.com", email_verified=False)
    assert User.objects.count() == 2


@case("U27")
def test_a_sub_domain_counts_only_if_it_is_listed() -> None:
    assert is_of_domain("a@sub.example.com", ["example.com", "sub.example.com"])
    assert not is_of_domain("a@sub.example.com", ["example.com"])


def test_refused_for_its_domain_leaves_no_account(client: Client, stub: Stub, settings: Settings) -> None:
    settings.OIDC_ALLOWED_DOMAINS = ["elsewhere.example"]
    answer = through_provider(client, stub)
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert b"No account was made" in answer.content
    assert not User.objects.exists()
    settings.OIDC_ALLOWED_DOMAINS = ["example.org"]
    assert through_provider(client, stub).status_code == HTTPStatus.FOUND


def test_a_suspended_person_is_out_at_once_and_cannot_come_back(client: Client, stub: Stub) -> None:
    through_provider(client, stub)
    assert client.get("/welcome/").status_code == HTTPStatus.OK
    User.objects.update(is_active=False)
    assert client.get("/welcome/").status_code == HTTPStatus.FOUND
    assert through_provider(Client(), stub).status_code == HTTPStatus.FORBIDDEN


def test_operators_are_named_by_issuer_and_subject_or_by_their_issuer(settings: Settings) -> None:
    issuer, subject = settings.OPERATORS[0]
    assert is_operator(OidcIdentity(issuer=issuer, subject=subject))
    assert not is_operator(OidcIdentity(issuer=issuer, subject=subject.upper()))
    assert not is_operator(OidcIdentity(issuer=f"{issuer}/", subject=subject))
    assert not is_operator(OidcIdentity(issuer="https://staff.example", subject="x"))
    settings.OPERATOR_ISSUER = "https://staff.example"
    assert is_operator(OidcIdentity(issuer="https://staff.example", subject="x"))
    settings.OPERATOR_ISSUER, settings.OPERATORS = "", []
    assert not is_operator(OidcIdentity(issuer="", subject=""))


def test_an_operator_who_is_no_longer_named_is_none_at_the_next_request(
    client: Client, settings: Settings
) -> None:
    issuer, subject = settings.OPERATORS[0]
    sign_in(client, make_user("Otto", issuer=issuer, subject=subject))
    assert client.get("/operations/").status_code == HTTPStatus.OK
    settings.OPERATORS = []
    assert client.get("/operations/", follow=True).status_code == HTTPStatus.FORBIDDEN
