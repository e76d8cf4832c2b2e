"""Words for the events of the audit trail."""

from __future__ import annotations

from django import template

from tenants.audit import words_of
from tenants.facts import facts_of, thing_of, way_of

register = template.Library()
register.filter("verb_words", words_of)
register.filter("facts", facts_of)
register.filter("thing", thing_of)
register.filter("way", way_of)
