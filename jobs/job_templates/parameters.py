"""What a template asks for, and how the answers get into its script: {{name}} becomes the value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from django.utils.translation import gettext as _

from portal.lib.errors import BadInput
from portal.lib.types import JSONDict, Words

NAME = re.compile(r"[a-z][a-z0-9_]{0,29}")
PLACE = re.compile(r"\{\{ ?([a-z][a-z0-9_]{0,29}) ?\}\}")
_TOKENS = re.compile(r"\\[\\|,]|.", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\|,])")
LONGEST_LABEL = 60
LONGEST_VALUE = 200
MOST_PARAMETERS = 20
MOST_CHOICES = 50
LARGEST_NUMBER = 10**9
Kind = Literal["text", "number", "choice"]
PARTS = ("name", "label", "default", "choices")  # of a line in the editor
KINDS: tuple[Kind, ...] = ("text", "number", "choice")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One question. `choices` only for the kind "choice"; the default is one of them then."""

    name: str
    label: Words
    default: str = ""
    kind: Kind = "text"
    choices: tuple[str, ...] = ()

    def read(self, text: str) -> str:
        """The value as it goes into the script. Raises ValueError with what to do."""
        text = text.strip() or self.default
        if not text:
            raise ValueError(_("Enter a value."))
        if len(text) > LONGEST_VALUE or not text.isprintable():
            raise ValueError(_("At most %(most)d printable characters.") % {"most": LONGEST_VALUE})
        if self.kind == "number" and not (
            text.isascii() and text.isdigit() and int(text[:12]) <= LARGEST_NUMBER
        ):
            raise ValueError(_("A whole number."))
        if self.kind == "choice" and text not in self.choices:
            raise ValueError(_("One of: %(choices)s.") % {"choices": ", ".join(self.choices)})
        return text


def fill(script: str, parameters: Iterable[Parameter], answers: Mapping[str, str]) -> str:
    """The script with the answers, or the defaults, in it. Raises BadInput with the parameters' names.

    Only declared names are places: what else stands in double braces stays.
    """
    values, problems = {}, {}
    for parameter in parameters:
        try:
            values[parameter.name] = parameter.read(answers.get(parameter.name, ""))
        except ValueError as error:
            problems[parameter.name] = str(error)
    if problems:
        raise BadInput(fields=problems)
    return PLACE.sub(lambda match: values.get(match[1], match[0]), script)


def unfilled(script: str, parameters: Iterable[Parameter]) -> list[str]:
    """Names in double braces that no parameter has, each once: often misspelt."""
    known = {parameter.name for parameter in parameters}
    return [name for name in dict.fromkeys(PLACE.findall(script)) if name not in known]


def declared(parameters: Iterable[Parameter], script: str) -> tuple[Parameter, ...]:
    """The parameters of a template as they may be kept. Raises BadInput about `parameters`."""
    kept = tuple(parameters)
    names = [parameter.name for parameter in kept]
    if len(kept) > MOST_PARAMETERS:
        _refuse(_("At most %(most)d parameters.") % {"most": MOST_PARAMETERS})
    for parameter in kept:
        _check(parameter, script)
    if len(set(names)) != len(names):
        _refuse(_("Two parameters have one name."))
    return kept


def parse(lines: Iterable[str], before: Iterable[Parameter] = ()) -> tuple[Parameter, ...]:
    """From text, one a line: `name | label | default | choices`; raises BadInput with the line's number.

    The third and fourth part may be missing. Choices are separated by commas; a default that is a
    whole number makes the parameter a number. A backslash before | or a comma makes it part of the text.
    A line that is as `before` would be written is that parameter: a program can say what a line cannot.
    """
    found = []
    as_before = {write([one]): one for one in before}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if line.strip() in as_before:
            found.append(as_before[line.strip()])
            continue
        parts = [part.strip() for part in _split(line, "|")]
        if len(parts) > len(PARTS):
            told = _("Line %(line)d: write name | label | default | choices.") % {"line": number}
            raise BadInput(fields={"parameters": told})
        name, label, default, choices = (*parts, "", "", "")[: len(PARTS)]
        label, default = _plain(label), _plain(default)
        options = tuple(_plain(choice.strip()) for choice in _split(choices, ",") if choice.strip())
        kind: Kind = "choice" if options else "text"
        if not options and default.isascii() and default.isdigit():
            kind = "number"
        found.append(Parameter(name, label or name, default, kind, options))
    return tuple(found)


def write(parameters: Iterable[Parameter]) -> str:
    """The same as text, for the form."""
    lines = []
    for one in parameters:
        choices = ", ".join(_escaped(choice, ",") for choice in one.choices)
        parts = [one.name, _escaped(str(one.label)), _escaped(one.default), choices]
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        lines.append(" | ".join(parts))
    return "\n".join(lines)


def _split(text: str, at: str) -> list[str]:
    """Where no backslash stands before it."""
    parts = [""]
    for token in _TOKENS.findall(text):
        if token == at:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def _escaped(text: str, also: str = "") -> str:
    text = text.replace("\\", "\\\\").replace("|", "\\|")
    return text.replace(also, f"\\{also}") if also else text


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def to_json(parameters: Iterable[Parameter]) -> list[JSONDict]:
    """For the database."""
    return [asdict(parameter) | {"label": str(parameter.label)} for parameter in parameters]


def from_json(kept: Iterable[Mapping[str, Any]]) -> tuple[Parameter, ...]:
    """From the database."""
    return tuple(Parameter(**{**one, "choices": tuple(one["choices"])}) for one in kept)


def _check(parameter: Parameter, script: str) -> None:
    name, label = parameter.name, str(parameter.label)
    if not NAME.fullmatch(name):
        told = _(
            "%(name)s: a parameter's name is of a to z, 0 to 9 and _, and begins with a letter: batch_size."
        )
        _refuse(told % {"name": name})
    if not 1 <= len(label) <= LONGEST_LABEL or not label.isprintable():
        _refuse(
            _("%(name)s: the label has 1 to %(most)d characters.") % {"name": name, "most": LONGEST_LABEL}
        )
    if parameter.kind not in KINDS:
        _refuse(_("%(name)s: there is no such kind.") % {"name": name})
    if parameter.kind == "choice" and not 1 <= len(parameter.choices) <= MOST_CHOICES:
        told = _("%(name)s: give 1 to %(most)d choices, separated by commas.")
        _refuse(told % {"name": name, "most": MOST_CHOICES})
    if parameter.default:
        try:
            parameter.read("")
        except ValueError as error:
            _refuse(f"{name}: {error}")
    if name not in PLACE.findall(script):
        told = _("%(name)s: the script has no place for it. Write {{%(name)s}} where its value belongs.")
        _refuse(told % {"name": name})


def _refuse(told: str) -> None:
    raise BadInput(fields={"parameters": told})
