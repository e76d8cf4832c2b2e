"""Words for the verbs of the audit trail."""

from __future__ import annotations

from django import template

from tenants.audit import words_of

register = template.Library()
register.filter("verb_words", words_of)


@register.filter
def facts(detail: dict[str, object]) -> list[tuple[str, str]]:
    """The facts of an event as pairs of text; nested ones as "old → new" where they are that."""
    found = []
    for name, value in detail.items():
        if isinstance(value, dict) and {"old", "new"} == value.keys():
            text = f"{value['old'] or '(none)'} → {value['new'] or '(none)'}"
        else:
            text = str(value)
        found.append((name.replace("_", " "), text[:300]))
    return found
