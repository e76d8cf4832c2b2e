"""What an order says beside its machines, where the template of a site's control planes asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from clusters.drivers.vcluster_platform import parameters
from clusters.drivers.vcluster_platform.parameters import Field
from clusters.models import Site, SiteFacts
from portal.lib.errors import OutsideError

__all__ = ["Field", "by_site", "check", "fields_of", "labelled", "refusal"]
DRIVER = "vcluster_platform"
# what the check of the template says, and how it reads in other languages
SAID = (
    gettext_noop("This is needed."),
    gettext_noop("Yes or no."),
    gettext_noop("A number."),
    gettext_noop("Only the site gives this."),
    gettext_noop("The template has no such parameter."),
    gettext_noop("It holds a control character."),
    gettext_noop("It does not have the form that the template asks for."),
    gettext_noop("It has a form that the template refuses."),
    gettext_noop("Only letters, digits, spaces and . _ / + @ - : are possible, and a letter or digit first."),
)
WITH_PARTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"At least (?P<least>\S+)\."), gettext_noop("At least %(least)s.")),
    (re.compile(r"At most (?P<most>\S+)\."), gettext_noop("At most %(most)s.")),
    (re.compile(r"At most (?P<most>\d+) letters\."), gettext_noop("At most %(most)s letters.")),
    (re.compile(r"One of: (?P<choices>.*)\."), gettext_noop("One of: %(choices)s.")),
)


def fields_of(site: Site) -> tuple[Field, ...]:
    """What people are asked for at this site, in the template's order; nothing where it has no template."""
    facts = _facts(site)
    if facts is None or facts.seen_at is None:
        return ()
    try:
        return parameters.form_fields(facts.template, version=facts.version, fixed=facts.fixed)
    except OutsideError:
        return ()


def refusal(site: Site) -> str:
    """Why nothing can be ordered at a site whose template is not known or not served; else ""."""
    if site.drivers.get("control_plane") != DRIVER:
        return ""
    facts = _facts(site)
    if facts is None or facts.seen_at is None:
        return _("What %(site)s asks for is not known yet. Try again in a minute.") % {"site": site.name}
    return _("Nothing can be ordered here at present.") if facts.hidden else ""


def check(site: Site, given: Mapping[str, object]) -> tuple[dict[str, str], dict[str, str]]:
    """The values to keep, defaults included, as text; and what is wrong, by parameter."""
    facts = _facts(site)
    if facts is None or facts.seen_at is None:
        return {}, {name: _("The template has no such parameter.") for name in given}
    asked = {field.name for field in fields_of(site)}
    typed = {name: value for name, value in given.items() if value not in {"", None}}
    strange = {name: _("The template has no such parameter.") for name in typed if name not in asked}
    try:
        found = parameters.validate(
            {name: value for name, value in typed.items() if name in asked},
            facts.template,
            version=facts.version,
            fixed=facts.fixed,
        )
    except OutsideError:
        return {}, strange
    wrong = {name: said(why) for name, why in found.errors.items() if name in asked}
    kept = {name: _as_text(value) for name, value in found.values.items() if name in asked}
    return kept, strange | wrong


def labelled(site: Site, kept: Mapping[str, str]) -> list[tuple[str, str]]:
    """What an order keeps, with the template's labels where it still has them."""
    labels = {field.name: field.label for field in fields_of(site)} if kept else {}
    return [(labels.get(name, name), value) for name, value in sorted(kept.items())]


def by_site(sites: Iterable[Site]) -> dict[Site, tuple[Field, ...]]:
    """The sites that ask for something."""
    return {site: fields for site in sites if (fields := fields_of(site))}


def said(why: str) -> str:
    """A sentence of the check in the reader's language."""
    for pattern, text in WITH_PARTS:
        if found := pattern.fullmatch(why):
            return _(text) % found.groupdict()
    return _(why) if why in SAID else why


def _facts(site: Site) -> SiteFacts | None:
    return getattr(site, "facts", None) if site.drivers.get("control_plane") == DRIVER else None


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
