"""Idempotency-Key: once for each key, and never two things under one."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from clusters.models import Order
from tenants.models import RequestKey
from tests.api.calls import make_token, send
from tests.architecture.routes import World
from tests.clusters.api.calls import order_body

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
ORDERS = "/api/v1/t/aurora/orders/"


@pytest.fixture
def scene() -> World:
    return World()


@pytest.fixture
def token(scene: World) -> str:
    return make_token(scene.owner, scene.tenant)


def post(token: str, body: Any, key: str | None, status: int) -> Any:
    answer = send(token, "post", ORDERS, body, key=key)
    assert answer.status_code == status, answer.content
    return json.loads(answer.content)


@pytest.mark.parametrize("key", ["3f0c1f6e-6a55-4bb2-9f3a-0d1c2b3a4f5e", "nightly-run", "x", "a b~" * 16])
def test_the_same_request_under_the_same_key_is_one_order(scene: World, token: str, key: str) -> None:
    body = order_body(scene)
    first, second = post(token, body, key, 201), post(token, body, key, 201)
    assert first == second
    assert Order.objects.count() == 1
    post(token, order_body(scene), str(uuid.uuid4()), 201)
    assert Order.objects.count() == 2


def test_another_request_under_the_same_key_is_refused(scene: World, token: str) -> None:
    body = order_body(scene)
    post(token, body, "k", 201)
    found = post(token, body | {"justification": "Really."}, "k", 422)
    assert found["type"] == "urn:freehold:problem:key-reused"
    assert Order.objects.count() == 1


@pytest.mark.parametrize("key", [None, "", " ", "x" * 65, "é", "tab\there"])
def test_without_a_usable_key_nothing_is_done(scene: World, token: str, key: str | None) -> None:
    found = post(token, order_body(scene), key, 400)
    assert found["errors"].keys() == {"Idempotency-Key"}
    assert not Order.objects.exists()


def test_a_refused_request_leaves_its_key_free(scene: World, token: str) -> None:
    body = order_body(scene)
    post(token, body | {"name": "-"}, "k", 400)
    assert not RequestKey.objects.exists()
    post(token, body, "k", 201)


def test_two_people_may_choose_the_same_words(scene: World, token: str) -> None:
    admin = make_token(scene.people["admin"], scene.tenant)
    first, second = post(token, order_body(scene), "k", 201), post(admin, order_body(scene), "k", 201)
    assert first["id"] != second["id"]
