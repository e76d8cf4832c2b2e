"""Comparing what we would apply with what is there, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.clients.kube.models import Kind
from clusters.kube import objects
from clusters.kube.drift import differences
from clusters.kube.objects import Wanted

THING = Kind("example.com/v1", "Thing", "things")


def told(want: dict[str, Any], have: dict[str, Any], *fields: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Path, wanted and found; `fields` are what we hold, then what others hold."""
    body = objects.manifest(THING, "a", {"spec": want}, namespace="b")
    managers = ("freehold", "others")
    managed = [
        {"manager": manager, "operation": "Apply", "fieldsV1": {"f:spec": held}}
        for manager, held in zip(managers, fields, strict=False)
    ]
    found = {**body, "spec": have, "metadata": {**body["metadata"], "managedFields": managed}}
    return [(one.path, one.wanted, one.found) for one in differences(Wanted(THING, body), found)]


@pytest.mark.parametrize("empty", [None, "", 0, False, [], {}, {"a": {}}, {"a": {"b": [], "c": ""}}])
def test_what_is_empty_may_be_left_out(empty: object) -> None:
    assert told({"x": empty}, {}) == []
    assert told({"x": 1}, {}) == [("spec.x", "1", "(nothing)")]


@pytest.mark.parametrize(
    ("want", "have", "same"),
    [
        ("1000m", "1", True),
        ("1", "1000m", True),
        ("1024Mi", "1Gi", True),
        ("1.5Gi", "1536Mi", True),
        (8, "8", True),
        ("2k", "2000", True),
        ("1Gi", "1G", False),
        ("1", "2", False),
        ("a lot", "1", False),
        ("1", "a lot", False),
    ],
)
def test_quantities_are_compared_as_numbers_where_they_are_quantities(
    want: object, have: object, same: bool
) -> None:
    assert (told({"limits": {"cpu": want}}, {"limits": {"cpu": have}}) == []) is same
    assert told({"name": {"cpu": want}}, {"name": {"cpu": have}}) != []


def test_true_is_not_one() -> None:
    assert told({"x": True}, {"x": 1}) == [("spec.x", "true", "1")]
    assert told({"x": 1}, {"x": 1}) == []


def test_a_list_is_merged_as_the_servers_own_books_say() -> None:
    items = [{"name": "a", "value": 1}]
    there = [{"name": "b", "value": 2}, {"name": "a", "value": 1, "more": 3}]
    keyed: dict[str, Any] = {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:value": {}}}}
    theirs: dict[str, Any] = {"f:items": {'k:{"name":"b"}': {".": {}}}}
    assert told({"items": items}, {"items": there}, keyed, theirs) == []
    assert [path for path, _, _ in told({"items": items}, {"items": there})] == ["spec.items"]
    members: dict[str, Any] = {"f:items": {'v:"a"': {}}}
    assert told({"items": ["a"]}, {"items": ["b", "a"]}, members) == []
    assert told({"items": ["c"]}, {"items": ["b", "a"]}, members) == [
        ("spec.items[c]", "c", "(nothing)"),
        ("spec.items[a]", "(nothing)", "a"),
    ]


def test_what_we_held_and_do_not_want_is_a_difference() -> None:
    held: dict[str, Any] = {"f:a": {}, "f:b": {".": {}, "f:c": {}}}
    have: dict[str, Any] = {"a": 1, "b": {"c": 2, "d": 3}}
    assert told({"a": 1, "b": {"c": 2}}, have, held) == []
    assert told({"a": 1, "b": {}}, have, held) == [("spec.b.c", "(nothing)", "2")]
    assert told({"b": {"c": 2}}, have, held) == [("spec.a", "(nothing)", "1")]
    assert told({}, have, {}, held) == []


def test_books_in_an_odd_form_break_nothing() -> None:
    odd: dict[str, Any] = {
        "f:items": {"k:no json": {}, "v:no json": {}, "k:[1]": {}, "nothing": {}, "f:x": {}}
    }
    assert told({"items": ["a"]}, {"items": ["a"]}, odd) == []


def test_a_long_text_is_cut() -> None:
    ((_, wanted, found),) = told({"x": "a" * 10_000}, {"x": "b" * 10_000})
    assert len(wanted) <= 250
    assert len(found) <= 250
