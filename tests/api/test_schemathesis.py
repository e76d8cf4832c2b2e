"""Sends each operation what its schema allows and what it does not, as everyone: no 500, no broken schema."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import hypothesis
import pytest
import requests
import schemathesis
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, strategies
from hypothesis.strategies import SearchStrategy
from requests.adapters import BaseAdapter
from schemathesis import GenerationMode, checks
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from urllib3 import HTTPResponse

from portal.web.api import schema_document
from tests.api.calls import OPERATIONS, Call, all_calls, token_of
from tests.architecture.routes import World
from tests.clusters import kubes
from tests.jobs.routes import slurm

CALLS = all_calls()
OTHERS = ("admin", "member", "viewer", "stranger", "operator", "anonymous")
GUESSES_NOBODY = frozenset({"site", "pools", "script", "confirm"})
CHECKS = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
schema = schemathesis.openapi.from_dict(schema_document())


class InProcess(BaseAdapter):
    """Hands a request of `requests` to Django's test client, which leaves the test's transaction open."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        parts = urlsplit(str(request.url))
        body = request.body or b""
        told = Client(raise_request_exception=False).generic(
            str(request.method),
            unquote_to_bytes(parts.path).decode("latin-1"),  # as a WSGI server hands it over
            body.encode() if isinstance(body, str) else body,
            content_type=str(request.headers.get("Content-Type", "")),
            headers={name: str(value) for name, value in request.headers.items()},
            QUERY_STRING=parts.query,
        )
        answer = requests.Response()
        answer.status_code, answer.request, answer.url = told.status_code, request, str(request.url)
        answer.headers.update(dict(told.items()))
        answer.raw = HTTPResponse(io.BytesIO(told.content), headers=dict(told.items()), preload_content=False)
        return answer

    def close(self) -> None:
        """Nothing is open."""


class Scene:
    """A world with a token of everyone, and the arguments that exist."""

    def __init__(self) -> None:
        self.session = requests.Session()
        self.session.mount("http://", InProcess())
        self.world = World()
        self.tokens = {who: token_of(self.world, who) for who in ("owner", *OTHERS) if who != "anonymous"}


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Slurm, the output reader and API servers are answered by stubs behind their seam."""
    made = Scene()
    with slurm(made.world), kubes.answering():
        yield made


def bounded(examples: int) -> hypothesis.settings:
    """Always the same examples."""
    return hypothesis.settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (500, "application/problem+json", b'{"type": "x", "title": "x", "status": 500}'),
        (418, "application/problem+json", b'{"type": "x", "title": "x", "status": 418}'),
        (200, "text/html", b"<p>"),
        (200, "application/json", b'{"id": 7}'),
    ],
)
def test_the_checks_find_what_they_are_for(status: int, kind: str, body: bytes) -> None:
    case = schema["/api/v1/me/"]["GET"].Case()
    answer = requests.Response()
    answer.status_code, answer._content = status, body
    answer.headers["Content-Type"] = kind
    answer.request = requests.Request("GET", "http://testserver/api/v1/me/").prepare()
    with pytest.raises(FailureGroup):
        case.validate_response(answer, checks=CHECKS)


def cases(name: str) -> SearchStrategy[schemathesis.Case[Any]]:
    """What the schema allows for an operation, and what it does not."""
    operation = OPERATIONS[name]
    found = schema[operation.path][operation.method.upper()]
    return strategies.one_of(*(found.as_strategy(generation_mode=mode) for mode in GenerationMode))


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_nothing_that_an_owner_sends_breaks_it(name: str, scene: Scene) -> None:
    @bounded(20)
    @given(case=cases(name), known=strategies.booleans())
    def run(case: schemathesis.Case[Any], known: bool) -> None:
        ask(case, scene, "owner", known=known)

    run()


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_nothing_that_others_send_breaks_it(name: str, scene: Scene) -> None:
    @bounded(12)
    @given(case=cases(name), who=strategies.sampled_from(OTHERS), known=strategies.booleans())
    def run(case: schemathesis.Case[Any], who: str, known: bool) -> None:
        ask(case, scene, who, known=known)

    run()


def ask(case: schemathesis.Case[Any], scene: Scene, who: str, *, known: bool) -> None:
    """Send it in a transaction that is undone, and check the answer. `known`: about things that exist."""
    call = CALLS[case.operation.definition.raw["operationId"]]
    if "tenant" in case.path_parameters:
        case.path_parameters["tenant"] = scene.world.tenant.slug
    if known:
        mend(case, scene.world, call)
    headers = {} if who == "anonymous" else {"Authorization": f"Bearer {scene.tokens[who]}"}
    with transaction.atomic():
        answer = case.call(base_url="http://testserver", session=scene.session, headers=headers)
        transaction.set_rollback(True)
    case.validate_response(answer, checks=CHECKS)


def mend(case: schemathesis.Case[Any], world: World, call: Call) -> None:
    """What no generator can guess: ids of things that exist, and a script that is one."""
    found = call.kwargs(world)
    if "pk" in found:
        case.path_parameters["id"] = str(found["pk"])
    if call.body is not None and isinstance(case.body, dict):
        for name, value in call.body(world).items():
            if name in GUESSES_NOBODY and name in case.body:
                case.body[name] = value
