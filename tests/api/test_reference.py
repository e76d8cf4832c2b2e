"""The API reference: complete, with examples that are valid and links that lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import jsonschema_rs
import pytest
from django.test import Client

from portal.web import api, reference_types, reference_words
from portal.web.api import schema_document
from portal.web.reference import CHOICES, PREFIX, TAGS, Operation, read
from tests.api.calls import OPERATIONS
from tests.portal import pseudo
from tests.portal.test_pseudo_language import EXCEPT

pytestmark = pytest.mark.matrix
PORTAL = "https://portal.example.org"


def told() -> dict[str, Operation]:
    """Every operation as the reference has it."""
    groups = read(schema_document(), PORTAL).groups
    return {operation.name: operation for group in groups.values() for operation in group}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_each_operation_stands_there_with_all_of_its_parts(name: str) -> None:
    facts, shown = OPERATIONS[name].facts, told()[name]
    assert shown.method == OPERATIONS[name].method.upper()
    assert {one.name for one in shown.parameters} == {one["name"] for one in facts.get("parameters", ())}
    assert [one.status for one in shown.answers] == list(facts["responses"])
    assert bool(shown.fields) == ("requestBody" in facts)


@pytest.mark.parametrize(
    "name", [name for name, one in sorted(OPERATIONS.items()) if "requestBody" in one.facts]
)
def test_the_body_of_each_example_is_what_the_schema_asks_for(name: str) -> None:
    words = shlex.split(told()[name].curl.replace("\\\n", ""))
    body = json.loads(words[words.index("-d") + 1])
    schema = OPERATIONS[name].facts["requestBody"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": schema_document()["components"]}
    validator = jsonschema_rs.Draft7Validator(whole, validate_formats=True)
    validator.validate(body)
    assert not validator.is_valid(list(body))


def test_an_example_names_the_method_where_curl_would_not_know_it() -> None:
    shown = told()
    assert "-X DELETE" in shown["member_remove"].curl
    assert "-X POST" in shown["job_cancel"].curl  # it has no body
    assert "-X" not in shown["job_submit"].curl
    assert '-H "Idempotency-Key: KEY"' in shown["job_submit"].curl
    assert shown["me"].curl.endswith(f"{PORTAL}{PREFIX}/me/")


def test_each_link_of_the_page_leads_to_a_place_on_it() -> None:
    page = Client().get("/api/v1/docs/").content.decode()
    places = re.findall(r' id="([^"]+)"', page)
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert len(places) == len(set(places))
    assert links <= set(places)
    assert {"JobDetail", "PoolInRequest", "jobs", "types"} <= links
    assert set(OPERATIONS) <= set(places)


def test_the_page_takes_nothing_from_elsewhere() -> None:
    page = Client().get("/api/v1/docs/")
    text = page.content.decode()
    assert re.findall(r'(?:src|href)="(?:https?:)?//', text) == []
    assert "script-src 'self'" in page["Content-Security-Policy"]
    assert "unsafe" not in page["Content-Security-Policy"]


def test_every_text_of_the_document_can_be_said_in_another_language() -> None:
    known = {*reference_words.WORDS, *reference_types.WORDS}
    found = {CHOICES.sub("", text) for text in descriptions(schema_document())} - {""}
    assert len(found) > 250
    assert sorted(found - known) == [], "enter them in portal/web/reference_words.py or reference_types.py"
    assert sorted(known - found) == [], "nothing says this any more"
    assert {tag for one in OPERATIONS.values() for tag in one.facts["tags"]} <= set(TAGS)


def descriptions(node: object) -> Iterator[str]:
    """Every description in a document."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "description" and isinstance(value, str):
                yield value
            else:
                yield from descriptions(value)
    elif isinstance(node, list):
        for value in node:
            yield from descriptions(value)


def test_the_reference_is_in_the_readers_language() -> None:
    german = Client().get("/api/v1/docs/", headers={"Accept-Language": "de"}).content.decode()
    assert "Ihre Rolle oder Ihr Token erlaubt das nicht." in german
    assert "Your role or token does not allow this." not in german
    english = Client().get("/api/v1/docs/", headers={"Accept-Language": "en"}).content.decode()
    assert "Your role or token does not allow this." in english


def test_words_around_the_english_of_the_schema_are_translated() -> None:
    api._reference.cache_clear()  # by language, and this one is pretended
    with pseudo.speaking():
        page = Client().get("/api/v1/docs/", headers={"Accept-Language": pseudo.LANGUAGE}).content.decode()
    api._reference.cache_clear()
    assert "⟦required⟧" in page
    names = {
        *OPERATIONS,
        *schema_document()["components"]["schemas"],
        "{name}",
    }  # in the labels of tables and buttons
    whole = re.sub(r"⟦[^⟧]*⟧", lambda found: re.sub(r"</?code>", "", found[0]), page)
    assert pseudo.strays(whole, names, EXCEPT) == []
