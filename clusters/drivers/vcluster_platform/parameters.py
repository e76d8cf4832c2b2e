"""A template's own parameters: the form that they make, and whether values fit. Pure; no Kubernetes here.

The Platform puts values into a Go template of YAML, mostly without quoting. So a text that a person typed is
held to letters that mean nothing in YAML, and kinds of parameters that cannot be held to them are no part
of a form: a site may give those itself. Fields as in the Platform's own API document (AppParameter).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from clusters.kube.text import to_yaml
from portal.lib.errors import PermanentError

FieldKind = Literal["string", "multiline", "boolean", "number", "password"]
KINDS: tuple[FieldKind, ...] = ("string", "multiline", "boolean", "number", "password")
ASKED = frozenset({"string", "boolean", "number"})  # of people
Value: TypeAlias = str | bool | int | float
LONGEST = 500
TRUE, FALSE = frozenset({"true", "on", "yes", "1"}), frozenset({"false", "off", "no", "0", ""})
# no quote, no brace, no colon or hash with a space beside it, no line end: nothing that YAML or Go would read
SAFE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._/+@-]|:(?=[A-Za-z0-9/]))*")
NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,6})?")
VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
Template: TypeAlias = Mapping[str, Any]  # a VirtualClusterTemplate as the API gives it


@dataclass(frozen=True, slots=True)
class Field:
    """One entry of a form. `minimum` and `maximum` are of numbers; `options` are all that may be chosen."""

    name: str
    label: str
    kind: FieldKind
    help: str = ""
    placeholder: str = ""
    section: str = ""
    options: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    required: bool = False
    default: str = ""
    validation: str = ""  # a pattern that must be found in the text
    invalidation: str = ""  # one that must not


@dataclass(frozen=True, slots=True)
class Checked:
    """Values as the template wants them, and what is wrong, by field, in sentences for people."""

    values: Mapping[str, Value] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


def form_fields(template: Template, *, version: str = "", fixed: Collection[str] = ()) -> tuple[Field, ...]:
    """What a person is asked: what the site does not give itself, in the template's order."""
    every = fields_of(template, version=version)
    return tuple(one for one in every if one.kind in ASKED and one.name not in fixed)


def fields_of(template: Template, *, version: str = "") -> tuple[Field, ...]:
    """Every parameter. Raises PermanentError BadTemplate or TemplateVersionMissing."""
    listed = _of_version(template, version).get("parameters") or ()
    found = tuple(map(_field, listed))
    if len({one.name for one in found}) != len(found):
        raise _bad_template("names a parameter twice")
    return found


def unserved(template: Template, *, version: str = "", fixed: Collection[str] = ()) -> tuple[str, ...]:
    """Parameters that must be given and that neither a person nor the site gives."""
    return tuple(
        one.name
        for one in fields_of(template, version=version)
        if one.required and not one.default and one.kind not in ASKED and one.name not in fixed
    )


def validate(
    values: Mapping[str, object], template: Template, *, version: str = "", fixed: Collection[str] = ()
) -> Checked:
    """Values against the template; those of `fixed` come from the site, all others from people.

    Absent or empty ones get the template's default. Raises PermanentError as `fields_of`.
    """
    good: dict[str, Value] = {}
    errors: dict[str, str] = {}
    known = fields_of(template, version=version)
    for name in sorted(set(map(str, values)) - {one.name for one in known}):
        errors[name] = "The template has no such parameter."
    for one in known:
        try:
            value = _value(one, values.get(one.name), by_site=one.name in fixed)
        except _Wrong as wrong:
            errors[one.name] = wrong.why
        else:
            if value is not None:
                good[one.name] = value
    return Checked(good, errors)


def rendered(values: Mapping[str, Value]) -> str:
    """The YAML text of an instance's `parameters`; a dot in a name goes one level down."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *above, last = name.split(".")
        place = tree
        for part in above:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise _bad_template(f"has {name} below a plain value")
        place[last] = value
    return to_yaml(tree) if tree else ""


class _Wrong(Exception):
    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def _value(one: Field, given: object, *, by_site: bool) -> Value | None:
    text = _text(given)
    if not text:
        if one.default:
            return _typed(one, one.default)
        if one.required:
            raise _Wrong("This is needed.")
        return None
    if len(text) > LONGEST and not by_site:
        raise _Wrong(f"At most {LONGEST} letters.")
    value = _typed(one, text)
    if one.options and text not in one.options:
        raise _Wrong(f"One of: {', '.join(one.options)}.")
    if isinstance(value, str):
        _check_text(one, value, by_site=by_site)
    return value


def _text(given: object) -> str:
    if given is None:
        return ""
    if isinstance(given, bool):
        return "true" if given else "false"
    return str(given) if isinstance(given, str | int | float) else "\x00"


def _typed(one: Field, text: str) -> Value:
    if one.kind == "boolean":
        if text.lower() not in TRUE | FALSE:
            raise _Wrong("Yes or no.")
        return text.lower() in TRUE
    if one.kind == "number":
        return _number(one, text)
    return text


def _number(one: Field, text: str) -> int | float:
    if not NUMBER.fullmatch(text.strip()):
        raise _Wrong("A number.")
    number = float(text)
    if one.minimum is not None and number < one.minimum:
        raise _Wrong(f"At least {one.minimum}.")
    if one.maximum is not None and number > one.maximum:
        raise _Wrong(f"At most {one.maximum}.")
    return int(number) if math.floor(number) == number else number


def _check_text(one: Field, text: str, *, by_site: bool) -> None:
    if not by_site:
        if one.kind not in ASKED:
            raise _Wrong("Only the site gives this.")
        if not one.options and not SAFE.fullmatch(text):
            raise _Wrong(
                "Only letters, digits, spaces and . _ / + @ - : are possible, and a letter or digit first."
            )
    if any(ord(letter) < 32 and letter not in "\n\t" for letter in text):
        raise _Wrong("It holds a control character.")
    if one.validation and not _pattern(one.validation).search(text):
        raise _Wrong("It does not have the form that the template asks for.")
    if one.invalidation and _pattern(one.invalidation).search(text):
        raise _Wrong("It has a form that the template refuses.")


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise _bad_template("has a pattern that cannot be read") from error


def _field(listed: Mapping[str, Any]) -> Field:
    kind = str(listed.get("type") or "string")
    name = str(listed.get("variable") or "")
    if kind not in KINDS or not name or any(not part for part in name.split(".")):
        raise _bad_template(f"has a parameter {name or 'without a name'} of the type {kind}")
    return Field(
        name=name,
        label=str(listed.get("label") or name),
        kind=kind,
        help=str(listed.get("description") or ""),
        placeholder=str(listed.get("placeholder") or ""),
        section=str(listed.get("section") or ""),
        options=tuple(map(str, listed.get("options") or ())),
        minimum=listed.get("min"),
        maximum=listed.get("max"),
        required=bool(listed.get("required")),
        default=str(listed.get("defaultValue") or ""),
        validation=str(listed.get("validation") or ""),
        invalidation=str(listed.get("invalidation") or ""),
    )


def _of_version(template: Template, version: str) -> Mapping[str, Any]:
    """The template's own part, or that of the newest version that fits, e.g. "1.0.x"."""
    spec: Mapping[str, Any] = template.get("spec") or {}
    if not version:
        return spec
    fitting = [one for one in _versions(spec) if _fits(str(one["version"]), version)]
    if not fitting:
        raise PermanentError(
            "TemplateVersionMissing",
            f"The template has no version {version}.",
            hint="Correct the version in the site's settings, or add it to the template.",
        )
    return max(fitting, key=lambda one: tuple(map(int, str(one["version"]).split("."))))


def definition_of(template: Template, *, version: str = "") -> Mapping[str, Any]:
    """What a version makes: the part that holds the chart's values."""
    found: Mapping[str, Any] = _of_version(template, version).get("template") or {}
    return found


def _versions(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for one in spec.get("versions") or ():
        if VERSION.fullmatch(str(one.get("version") or "")):
            yield one


def _fits(found: str, wanted: str) -> bool:
    parts = zip(found.split("."), wanted.split("."), strict=False)
    return all(want in {"x", have} for have, want in parts)


def _bad_template(why: str) -> PermanentError:
    return PermanentError(
        "BadTemplate",
        f"The template {why}.",
        hint="Correct the template on the vCluster Platform, then retry.",
    )
