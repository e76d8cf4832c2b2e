"""A language in which what was marked for translation stands in ⟦brackets⟧, and what stands outside of them.

Placeholders and tags stay outside the brackets, so that a word which is put into a translated sentence is
looked at on its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

from django.apps import apps
from django.db import models
from django.utils.translation import trans_real

from tests.architecture import sources

LANGUAGE = "de"  # the place that the pseudo language takes while a test runs
HOLE = re.compile(r"(%(?:\(\w+\))?[.\d]*[sdrif]|%%|\{\w*\}|</?[a-zA-Z][^>]*>|&\w+;)")
BRACKETS = re.compile(r"⟦[^⟧]*⟧?")
WORD = re.compile(r"[^\W\d_]{2,}(?:[-'.][^\W\d_]+)*")
SHOWN = ("title", "aria-label", "placeholder", "alt", "data-label", "data-sending-text")
UNSEEN = {"script", "style", "template", "code", "pre", "kbd", "textarea"}
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "use", "wbr"}


class Pseudo(trans_real.DjangoTranslation):
    """Brackets around what the catalogues hold, ours and Django's own."""

    def gettext(self, message: str) -> str:
        """The text behind a context, if there is one, in brackets; as it is where no catalogue has it."""
        return self._marked(message, message)

    def _marked(self, key: str, message: str) -> str:
        known: Any = self._catalog  # type: ignore[attr-defined]
        if key not in known and (key, 0) not in known:
            return message
        text = message.rpartition("\x04")[2]
        return "".join(
            f"⟦{part}⟧" if i % 2 == 0 and part.strip() else part for i, part in enumerate(HOLE.split(text))
        )

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """As gettext."""
        return self._marked(msgid1, msgid1 if n == 1 else msgid2)


def _spoken() -> dict[str, Any]:
    """Django's translations by language, as it keeps them."""
    kept: dict[str, Any] = vars(trans_real)["_translations"]
    return kept


@contextmanager
def speaking() -> Iterator[None]:
    """Let the pseudo language take the place of German."""
    kept = trans_real.translation(LANGUAGE)
    _spoken()[LANGUAGE] = Pseudo(LANGUAGE)
    try:
        yield
    finally:
        _spoken()[LANGUAGE] = kept


class Reader(HTMLParser):
    """Collects what a person sees or is read out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.inside: list[bool] = []  # of each open element: whether what is in it is to be read

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes that are shown, and whether the content is."""
        found = dict(attrs)
        silent = (
            tag in UNSEEN
            or (tag != "html" and "lang" in found)
            or "mono" in (found.get("class") or "").split()
            or found.get("translate") == "no"
        )
        names = [name for name in found if name in SHOWN or name.startswith("data-say-")]
        self.texts += [found[name] or "" for name in names]
        if tag == "input" and found.get("type") in {"submit", "button"}:
            self.texts.append(found.get("value") or "")
        if tag not in VOID:
            self.inside.append(not silent and (not self.inside or self.inside[-1]))

    def handle_endtag(self, tag: str) -> None:
        """Leave the element."""
        if tag not in VOID and self.inside:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        """Text, where it is to be read."""
        if data.strip() and (not self.inside or self.inside[-1]):
            self.texts.append(" ".join(data.split()))


def data_of_rows() -> set[str]:
    """Every text in the database that no list of choices names: names, notes, messages of workers."""
    found: set[str] = set()
    for model in apps.get_models():
        if model._meta.app_label not in {"tenants", "clusters", "jobs"}:
            continue
        fields = [field for field in model._meta.concrete_fields if not field.choices and _holds_text(field)]
        for row in model._base_manager.values_list(*(field.attname for field in fields))[:500]:
            found.update(_leaves(row))
    return {text for text in found if WORD.search(text)}


# Words of our own that the database holds and pages must not show as they are.
OURS = {"verb", "actor_kind", "via", "target_type", "kind", "phase", "state", "status"}


def _holds_text(field: models.Field[Any, Any]) -> bool:
    text = (models.CharField, models.TextField, models.JSONField)
    return isinstance(field, text) and field.name not in OURS  # generic types for mypy


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield " ".join(value.split())
        yield from (" ".join(line.split()) for line in value.splitlines())
    elif isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)


def strays(html: str, data: Iterable[str], allowed: re.Pattern[str]) -> list[str]:
    """What a page shows outside the brackets and neither the database nor the list of exceptions knows."""
    reader = Reader()
    reader.feed(html)
    known = sorted(data, key=len, reverse=True)
    found = []
    for text in reader.texts:
        rest = BRACKETS.sub(" ", " ".join(text.split()))
        if not WORD.search(allowed.sub(" ", rest)):
            continue
        for one in known:
            if one in rest:
                rest = re.sub(rf"(?<!\w){re.escape(one)}(?!\w)", " ", rest)
        rest = allowed.sub(" ", rest)
        if WORD.search(rest):
            found.append(" ".join(rest.split()))
    return found


def where(text: str) -> str:
    """The first of our files in which the text stands, for the report."""
    longest = max(re.split(r"[^\w ',;.()-]+", text), key=len).strip()
    for path in [*sources.templates(), *sources.python_files()]:
        if longest and longest in path.read_text(encoding="utf-8"):
            return sources.name_of(path)
    return "made of parts"
