"""The schema: made without a warning, and complete."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from jobs.api.batch import BatchIn
from jobs.api.request import JobIn
from jobs.parsing.script import parse_script
from portal.web import api
from portal.web.api import schema_document
from tests.api.calls import OPERATIONS

pytestmark = pytest.mark.matrix


def test_the_schema_is_valid_and_gives_no_warning(tmp_path: Path) -> None:
    target = tmp_path / "schema.yml"
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(target))
    assert target.stat().st_size > 10_000


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_each_operation_says_what_it_needs_and_refuses(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation.facts["description"].endswith(".")
    assert operation.facts["tags"]
    assert operation.facts["security"] == [{"ApiToken": []}]
    told = operation.facts["responses"]
    assert {"401", "403", "404"} <= told.keys()
    if operation.method != "get":
        assert "409" in told
    for status, answer in told.items():
        if int(status) >= 400:
            assert list(answer["content"]) == ["application/problem+json"]
            assert answer["description"]


def test_enums_have_names_that_people_gave_them() -> None:
    enums = [name for name in schema_document()["components"]["schemas"] if name.endswith("Enum")]
    assert enums
    assert [name for name in enums if any(letter.isdigit() for letter in name)] == []


def test_lists_are_pages_with_a_bound() -> None:
    lists = [
        operation for operation in OPERATIONS.values() if "cursor" in str(operation.facts.get("parameters"))
    ]
    assert len(lists) > 10
    for operation in lists:
        limit = next(one for one in operation.facts["parameters"] if one["name"] == "limit")
        assert limit["schema"]["maximum"] == 200


def test_the_security_scheme_is_the_token() -> None:
    found = schema_document()["components"]["securitySchemes"]
    assert found["ApiToken"]["scheme"] == "bearer"
    assert len(found) == 1


def test_root_leads_on_and_names_the_public_address() -> None:
    found = Client().get("/api/v1/", headers={"Host": "localhost"}).json()
    assert found["docs"] == f"{settings.PUBLIC_URL}/api/v1/docs/"
    assert Client().get("/api/v1/schema/")["Content-Type"] == "application/vnd.oai.openapi+json"


def test_two_who_ask_at_once_get_one_document() -> None:
    api._made_document.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: schema_document(), range(4)))
    assert all(document is found[0] for document in found)


@pytest.mark.parametrize("name", ["README.md", "docs/api.md"])
def test_the_example_of_the_documents_is_a_job(name: str) -> None:
    text = (settings.BASE_DIR / name).read_text(encoding="utf-8")
    first, *others = (json.loads(body) for body in re.findall(r"-d '(\{.*?\})'", text))
    asked = JobIn(data=first)
    assert asked.is_valid(), asked.errors
    assert all(BatchIn(data=body).is_valid() for body in others)
    assert parse_script(asked.validated_data["script"]).text.startswith("#!/bin/bash\n")
    assert re.search(r"/clusters/CLUSTER/jobs/\s", text)
