"""Pages by signed cursors: nothing twice, nothing left out, no cursor of another list."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core import signing

from tenants.commands import command
from tenants.models import Tenant, User
from tests.api.calls import make_token, send
from tests.builders import actor_for, make_member

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
HOST = "http://testserver"
AUDIT = "/api/v1/t/aurora/audit/"


@pytest.fixture
def token(ada: User, tenant: Tenant) -> str:
    for number in range(7):
        with command(f"test.{number % 2}", actor=actor_for(ada, tenant)):
            pass
    return make_token(ada, tenant)


def get(token: str, path: str, status: int = 200) -> Any:
    answer = send(token, "get", path.removeprefix(HOST))
    assert answer.status_code == status, answer.content
    return json.loads(answer.content)


def all_pages(token: str, path: str) -> list[list[Any]]:
    pages: list[list[Any]] = []
    while path:
        page = get(token, path)
        pages.append(page["items"])
        path = page["next"]
    return pages


@pytest.mark.parametrize("limit", [1, 3, 8, 200])
def test_every_row_comes_once_in_order(token: str, limit: int) -> None:
    pages = all_pages(token, f"{AUDIT}?limit={limit}")
    ids = [row["id"] for page in pages for row in page]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == len(set(ids)) == 8  # seven, and the making of the token
    assert all(len(page) == limit for page in pages[:-1])
    assert pages[-1]


def test_what_comes_in_between_moves_nothing(ada: User, tenant: Tenant, token: str) -> None:
    first = get(token, f"{AUDIT}?limit=4")
    with command("test.later", actor=actor_for(ada, tenant)):
        pass
    rest = get(token, first["next"])
    assert first["items"][-1]["id"] > rest["items"][0]["id"]
    assert "test.later" not in {row["verb"] for row in rest["items"]}
    assert len(rest["items"]) == 4


def test_filters_go_along(token: str) -> None:
    pages = all_pages(token, f"{AUDIT}?limit=2&verb=test.0")
    assert [len(page) for page in pages] == [2, 2]
    assert {row["verb"] for page in pages for row in page} == {"test.0"}


def test_people_with_one_moment_are_told_apart_by_their_id(token: str, tenant: Tenant) -> None:
    for _ in range(4):
        make_member(tenant)
    tenant.memberships.update(created_at=tenant.created_at)
    pages = all_pages(token, "/api/v1/t/aurora/members/?limit=2")
    ids = [row["id"] for page in pages for row in page]
    assert len(ids) == len(set(ids)) == 5
    assert ids == sorted(ids)


def test_a_cursor_is_of_one_list_and_person(token: str, tenant: Tenant) -> None:
    cursor = get(token, f"{AUDIT}?limit=2")["next"].partition("cursor=")[2]
    assert get(token, f"{AUDIT}?limit=5&cursor={cursor}")["items"]  # another limit is fine
    other = make_token(make_member(tenant, "admin"), tenant)
    forged = signing.dumps([3], salt="mine")
    for who, path in (
        (token, f"{AUDIT}?cursor={cursor}x"),
        (token, f"{AUDIT}?cursor={forged}"),
        (token, f"{AUDIT}?cursor={cursor}&verb=test.0"),
        (token, f"/api/v1/t/aurora/members/?cursor={cursor}"),
        (other, f"{AUDIT}?cursor={cursor}"),
    ):
        assert get(who, path, 400)["errors"].keys() == {"cursor"}


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "cursor=", "cursor=%00", "since=x"])
def test_odd_parameters_are_refused(token: str, query: str) -> None:
    assert get(token, f"{AUDIT}?{query}", 400)["errors"].keys() == {query.partition("=")[0]}
