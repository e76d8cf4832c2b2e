"""A template's parameters make the form and judge the values; nothing typed gets out of its place."""

from __future__ import annotations

import string

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clusters.drivers.vcluster_platform import parameters
from clusters.drivers.vcluster_platform.parameters import Field, form_fields, rendered, validate
from portal.lib.errors import PermanentError
from portal.lib.types import JSONDict
from tests.kube.vendor_platform import template

GIVEN = {"gpuNodes": "4", "apiHost": "c-1.k8s.example.com"}


def one(**listed: object) -> JSONDict:
    return dict(template(parameters=[{"variable": "it", **listed}]))


def wrong(value: object, **listed: object) -> str:
    checked = validate({"it": value}, one(**listed))
    assert set(checked.errors) <= {"it"}
    return checked.errors.get("it", "")


def test_the_form_is_what_the_template_asks_and_the_site_does_not_give() -> None:
    fields = form_fields(template(), fixed={"apiHost", "gpuNodes"})
    assert [field.name for field in fields] == ["k8sVersion", "net.pods", "vpn"]
    assert fields[0] == Field(
        "k8sVersion", "Kubernetes", "string", options=("v1.34.1", "v1.35.6"), default="v1.35.6"
    )
    nodes = form_fields(template())[0]
    assert (nodes.label, nodes.kind, nodes.minimum, nodes.maximum) == ("GPU nodes", "number", 1, 64)
    assert nodes.required


def test_values_get_the_types_that_the_template_names() -> None:
    checked = validate(GIVEN, template())
    assert checked.errors == {}
    assert yaml.safe_load(rendered(checked.values)) == {
        "gpuNodes": 4,
        "k8sVersion": "v1.35.6",
        "apiHost": "c-1.k8s.example.com",
        "net": {"pods": "10.64.0.0/16"},
        "vpn": False,
    }
    assert rendered(checked.values) == rendered(validate(GIVEN, template()).values)


def test_what_a_template_refuses_is_told_beside_its_field() -> None:
    errors = validate(
        {"gpuNodes": "65", "k8sVersion": "v1.0.0", "vpn": "maybe", "more": "1"}, template()
    ).errors
    assert set(errors) == {"gpuNodes", "k8sVersion", "apiHost", "vpn", "more"}
    assert "64" in errors["gpuNodes"]
    assert "v1.34.1" in errors["k8sVersion"]


@pytest.mark.parametrize(
    ("value", "listed", "says"),
    [
        ("", {"required": True}, "needed"),
        ("4", {"type": "number", "min": 5}, "At least 5"),
        ("4x", {"type": "number"}, "number"),
        ("nan", {"type": "number"}, "number"),
        ("1e9", {"type": "number"}, "number"),
        ("ab", {"validation": "^a+$"}, "form"),
        ("ab", {"invalidation": "b"}, "form"),
        ("x" * 501, {}, "500"),
        (["a"], {}, "letters"),
        ("text", {"type": "multiline"}, "site"),
        ("text", {"type": "password"}, "site"),
    ],
)
def test_values_that_do_not_fit_are_refused(value: object, listed: JSONDict, says: str) -> None:
    assert says in wrong(value, **listed)


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        ("4", {"type": "number", "min": 4, "max": 4}),
        ("0.5", {"type": "number"}),
        ("on", {"type": "boolean"}),
        ("aa", {"validation": "^a+$", "invalidation": "b"}),
        ("v1.35.6", {}),
        ("https://host.example:6443/a", {}),
        ("two words", {}),
    ],
)
def test_values_that_fit_are_taken(value: object, listed: JSONDict) -> None:
    assert wrong(value, **listed) == ""


@pytest.mark.parametrize(
    "attack",
    [
        "a\ndeploy:\n  argoCD: {}",
        "{{ .Values.secret }}",
        '"',
        "'",
        "a: b",
        "a #",
        "- a",
        "&a",
        "*a",
        "!!python/object",
        "[1]",
        "|",
        "a\u2028b",
        "`id`",
        "%a",
    ],
)
def test_no_typed_text_says_anything_to_yaml_or_to_go(attack: str) -> None:
    assert wrong(attack)
    assert validate({"it": attack}, one(), fixed={"it"}).errors == {}  # the site itself may


@given(st.text(string.printable, min_size=1, max_size=40))
def test_a_text_that_is_taken_stays_one_scalar_without_quotes(text: str) -> None:
    if not wrong(text):
        found = yaml.safe_load(f"outer:\n  inner: {text}\n  after: 1\n")
        assert list(found) == ["outer"]
        assert list(found["outer"]) == ["inner", "after"]
        assert not isinstance(found["outer"]["inner"], dict | list)


def test_a_site_may_give_what_nobody_is_asked_for() -> None:
    secret = one(type="password", required=True)
    assert form_fields(secret) == ()
    assert parameters.unserved(secret) == ("it",)
    assert parameters.unserved(secret, fixed={"it"}) == ()
    assert validate({"it": "s3cr3t"}, secret, fixed={"it"}).values == {"it": "s3cr3t"}


def test_the_newest_version_that_fits_is_taken() -> None:
    versions = [
        {"version": number, "parameters": [{"variable": f"p{number.replace('.', '')}"}]}
        for number in ("1.0.9", "1.0.10", "1.2.0", "2.0.0")
    ]
    made = {"metadata": {"name": "t"}, "spec": {"versions": versions}}
    for wanted, found in {"1.0.x": "p1010", "1.x.x": "p120", "x.x.x": "p200", "1.0.9": "p109"}.items():
        assert [field.name for field in form_fields(made, version=wanted)] == [found]
    with pytest.raises(PermanentError) as refused:
        form_fields(made, version="3.x.x")
    assert refused.value.reason == "TemplateVersionMissing"


@pytest.mark.parametrize(
    "listed",
    [
        [{"variable": "a", "type": "file"}],
        [{"variable": ""}],
        [{"variable": "a..b"}],
        [{"variable": "a"}, {"variable": "a"}],
    ],
)
def test_a_template_that_makes_no_sense_is_said(listed: list[JSONDict]) -> None:
    with pytest.raises(PermanentError) as refused:
        form_fields(template(parameters=listed))
    assert refused.value.reason == "BadTemplate"
    assert refused.value.hint


def test_a_broken_pattern_and_a_name_below_a_value_are_the_templates_fault() -> None:
    with pytest.raises(PermanentError):
        wrong("a", validation="(")
    with pytest.raises(PermanentError):
        rendered({"a": 1, "a.b": 2})
    assert rendered({}) == ""
