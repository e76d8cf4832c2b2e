"""What drivers send is what the golden files show, and a real API server takes all of it and no mistake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clusters.clients.kube import errors
from clusters.clients.kube.models import Kind, Manifest, Ref
from clusters.kube import kinds
from clusters.kube.objects import Wanted
from tests.contract.kube.driven import Driven, every_driven
from tests.kube import golden
from tests.kube.server import KubeServer

server_tests = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
each = pytest.mark.parametrize("driven", every_driven(), ids=lambda driven: driven.id)


@each
def test_each_step_sends_what_its_golden_file_shows(driven: Driven) -> None:
    path = golden.path_of(driven)
    hint = "look at what changed, then write it by `python -m tests.kube.golden`"
    assert path.exists(), hint
    assert golden.text_of(driven) == path.read_text(encoding="utf-8"), hint


def test_there_is_no_file_of_a_step_that_is_gone() -> None:
    assert set(golden.FOLDER.rglob("*.yaml")) == {golden.path_of(driven) for driven in every_driven()}


def test_a_twin_differs_in_one_name() -> None:
    body = {"kind": "A", "metadata": {"name": "a", "labels": {"b": "c"}}, "spec": {"d": [{"e": 1}]}}
    found = {path: (name, twin) for path, name, twin in golden.twins(body, None)}
    assert set(found) == {"metadata.labels", "spec", "spec.d", "spec.d.0.e"}
    listed: dict[str, Any] = {"type": "object", "properties": {"e": {"type": "integer"}}}
    spec = {"properties": {"d": {"items": listed}}}
    assert len(list(golden.twins(body, {"properties": {"spec": spec}}))) == 4
    listed["x-kubernetes-preserve-unknown-fields"] = True
    assert len(list(golden.twins(body, {"properties": {"spec": spec}}))) == 3
    assert found["spec.d.0.e"] == ("ee", {**body, "spec": {"d": [{"ee": 1}]}})


class TestOnTheServer:
    """Every object, tried dry."""

    pytestmark = server_tests

    @each
    def test_each_object_is_taken_and_each_misspelt_twin_refused(
        self, driven: Driven, kube_server: KubeServer
    ) -> None:
        for one in golden.wanted_of(driven):
            if one.ref.namespace:
                kube_server.ensure_namespace(one.ref.namespace)
            made = kube_server.client.apply(one.manifest, one.kind, dry_run=True)
            assert made["metadata"]["name"] == one.ref.name
            twins = list(golden.twins(one.manifest, _schema(kube_server, one.kind)))
            assert twins, one.ref
            taken = [path for path, name, twin in twins if not _names(_refusal(kube_server, one, twin), name)]
            assert taken == [], one.ref


def _names(refusal: str, name: str) -> bool:
    """Whether it is refused for that name; of a list's key the server says that it is missing."""
    return name in refusal or "omits all key fields" in refusal


def _refusal(server: KubeServer, one: Wanted, twin: Manifest) -> str:
    try:
        server.client.apply(twin, one.kind, dry_run=True)
    except errors.Invalid as error:
        return error.message
    return ""


def _schema(server: KubeServer, kind: Kind) -> Mapping[str, Any] | None:
    found = server.client.get(Ref(kinds.CRD, f"{kind.plural}.{kind.group}"))
    if found is None:
        return None
    version = kind.api_version.rpartition("/")[2]
    (schema,) = [
        one["schema"]["openAPIV3Schema"] for one in found["spec"]["versions"] if one["name"] == version
    ]
    return schema  # type: ignore[no-any-return]  # JSON
