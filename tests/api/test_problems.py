"""Every error of the API is problem details, in the order 404, 403, 409, 400."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import Http404
from django.test import Client
from rest_framework.exceptions import ErrorDetail, ValidationError

from portal.lib.errors import PermanentError, TemporaryError
from tenants.api import parsing, problems
from tenants.models import Role, Tenant
from tests.api.calls import make_token, send
from tests.builders import make_member
from tests.cases import case

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
ORDERS = "/api/v1/t/aurora/orders/"


def told(answer: Any, status: int) -> Any:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    return json.loads(answer.content)


def test_401_says_how(token: str) -> None:
    assert send(token, "get", ORDERS).status_code == 200
    for header in ("", "Basic abc", "Bearer", "Bearer fht_wrong", f"Bearer {token}x", f"Bearer {'x' * 300}"):
        answer = Client().get(ORDERS, headers={"Authorization": header} if header else {})
        assert told(answer, 401)["type"] == "urn:freehold:problem:not-authenticated"
        assert answer["WWW-Authenticate"].startswith("Bearer")


@case("U32")
def test_404_outside_of_everything_and_without_a_tenant(token: str) -> None:
    for path in ("/api/v1/orders/", "/api/v1/t/orders/", "/api/v1/t//orders/"):
        told(send(token, "get", path), 404)
    for path in ("/api/", "/api/v1/nothing/", "/api/v1/t/aurora/orders/not-a-uuid/", "/api/v2/me/"):
        found = told(send(token, "get", path), 404)
        assert found["request_id"]


def test_405_names_the_method_and_has_allow(token: str) -> None:
    answer = send(token, "put", ORDERS, {})
    assert "PUT" in told(answer, 405)["detail"]
    assert answer["Allow"] == "GET, HEAD, POST"
    told(send(token, "options", ORDERS), 405)


def test_415_for_what_is_not_json(token: str) -> None:
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        answer = Client().post(ORDERS, b"x", content_type=kind, headers={"Authorization": f"Bearer {token}"})
        told(answer, 415)


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff", b'{"name": NaN}', b'{"count": ' + b"9" * 5000 + b"}", b"[" * 100_000, b""],
    ids=["cut", "not utf-8", "NaN", "a huge number", "deep", "empty"],
)
def test_400_for_what_is_no_json(token: str, body: bytes) -> None:
    answer = Client().generic(
        "POST",
        ORDERS,
        body,
        content_type="application/json; charset=utf-7",
        headers={"Authorization": f"Bearer {token}", "Idempotency-Key": "1"},
    )
    told(answer, 400)


def test_413_for_too_much(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "LARGEST", 100)
    assert told(send(token, "post", ORDERS, {"name": "x"}, key="new"), 400)
    told(send(token, "post", ORDERS, {"name": "x" * 200}, key="new"), 413)


def test_400_names_fields_by_their_path(token: str) -> None:
    body = {"name": "a\0b", "site": "x", "pools": [{"name": "train", "count": 0}]}
    found = told(send(token, "post", ORDERS, body, key="new"), 400)
    assert set(found["errors"]) == {"name", "site", "pools.0.offering", "pools.0.count"}
    assert told(send(token, "post", ORDERS, [1], key="new"), 400)["errors"].keys() == {""}
    assert told(send(token, "post", ORDERS, {"name": "\ud800"}, key="new"), 400)["errors"]["name"]


def test_the_order_is_404_403_409_400(tenant: Tenant) -> None:
    viewer = make_token(make_member(tenant, Role.VIEWER), tenant)
    told(send(viewer, "post", "/api/v1/t/elsewhere/orders/", {}), 404)
    told(send(viewer, "post", ORDERS, {}), 403)


@pytest.mark.parametrize(("kind", "status"), [(TemporaryError, 503), (PermanentError, 502)])
def test_outside_errors_tell_their_reason(
    token: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, kind: Any, status: int
) -> None:
    def fails(**_: object) -> None:
        raise kind("NoCapacity", "It is full.", hint="Wait.")

    monkeypatch.setattr("tenants.api.invitations.invitations.invite", fails)
    body = {"email": "x@example.org", "role": "member"}
    found = told(send(token, "post", "/api/v1/t/aurora/invitations/", body), status)
    assert (found["reason"], found["detail"], found["hint"]) == ("NoCapacity", "It is full.", "Wait.")


def test_a_bug_is_a_problem_without_its_trace(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*args: object) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr("clusters.api.orders.keyset_page", breaks)
    client = Client(raise_request_exception=False)
    answer = send(token, "get", ORDERS, client=client)
    assert told(answer, 500)["type"] == "urn:freehold:problem:internal"
    assert b"secret" not in answer.content


def test_what_is_no_error_of_ours_or_the_frameworks_is_left_alone() -> None:
    found = problems.handle(Http404(), {})
    assert found is not None
    assert (found.status_code, found.data["status"]) == (404, 404)
    assert problems.handle(RuntimeError(), {}) is None


def test_nested_messages_are_flat() -> None:
    error = ValidationError(
        {"pools": [{}, {"count": ["Too many."]}], "tags": {"0": ["Bad."]}, "non_field_errors": ["No."]}
    )
    assert problems.flat(error.detail) == {"pools.1.count": ["Too many."], "tags.0": ["Bad."], "": ["No."]}
    assert problems.flat([ErrorDetail("One.")]) == {"": ["One."]}


def test_answers_are_not_for_caches(token: str) -> None:
    answer = send(token, "get", ORDERS)
    assert answer["Cache-Control"] == "no-store"
    assert "Authorization" in answer["Vary"]
    assert send(token, "get", "/api/v1/t/aurora/")["Cache-Control"] == "private, no-cache"
