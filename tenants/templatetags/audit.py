"""Words for the events of the audit trail."""

from __future__ import annotations

import re

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from tenants.audit import words_of
from tenants.facts import facts_of, thing_of, way_of

# as tenants.actor writes it: a name, subject and issuer, and which token
PERSON = re.compile(
    r"(?P<name>.+) \((?P<subject>.+) at https?://\S+\)(?:, API token (?P<token>.+))?", re.DOTALL
)

register = template.Library()
register.filter("verb_words", words_of)
register.filter("facts", facts_of)
register.filter("thing", thing_of)
register.filter("way", way_of)


@register.filter
def who(label: str) -> SafeString:
    """Who did it, as people know them; the subject where it says more, and issuer and all on hover."""
    found = PERSON.fullmatch(label)
    if found is None:
        return format_html("{}", label)
    beside = [found["subject"]] if found["subject"] != found["name"] else []
    if found["token"]:
        beside.append(gettext("API token %(name)s") % {"name": found["token"]})
    more = format_html(' <span class="muted small">{}</span>', ", ".join(beside)) if beside else ""
    return format_html('<span title="{}">{}{}</span>', label, found["name"], more)
