"""Status badges, icons, times, ages, durations and bars, so that each looks the same on every page."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.lib import clock
from portal.web.status import look_of
from tenants.models import Role

register = template.Library()
NOTHING = "\N{EN DASH}"
MODEL_ICONS = {
    "Order": "order",
    "Cluster": "cluster",
    "Machine": "capacity",
    "Site": "globe",
    "Flavor": "gpu",
    "Offering": "template",
    "Quota": "settings",
    "Tenant": "tenant",
    "User": "person",
    "Membership": "members",
    "Invitation": "mail",
    "Job": "job",
    "OidcIdentity": "key",
}


@register.simple_tag
def icon(name: str, label: str = "", extra: str = "") -> SafeString:
    """An icon of static/icons.svg; decoration unless it has a label."""
    if label:
        href = f"{static('icons.svg')}#{name}"
        return format_html(
            '<svg class="icon icon-{} {}" role="img" aria-label="{}"><use href="{}"></use></svg>',
            name,
            extra,
            label,
            href,
        )
    return _plain_icon(name, extra)


@functools.lru_cache(maxsize=256)
def _plain_icon(name: str, extra: str) -> SafeString:
    """Nearly every row of a list has one: made once."""
    return format_html(
        '<svg class="icon icon-{} {}" aria-hidden="true"><use href="{}"></use></svg>',
        name,
        extra,
        f"{static('icons.svg')}#{name}",
    )


@register.filter
def tone(status: object) -> str:
    """The tone of a status: neutral, blue, green, amber, red or grey."""
    return look_of(status).tone


@register.filter
def status_icon(status: object) -> str:
    """The icon of a status."""
    return look_of(status).icon


@register.filter
def status_word(status: object) -> str:
    """The word of a status."""
    return look_of(status).word


@register.filter
def model_icon(name: str) -> str:
    """The icon of a model in the operators' navigation; a plain one for those not listed."""
    return MODEL_ICONS.get(name, "audit")


@register.filter
def role_word(role: str) -> str:
    """The word of a role; one that we no longer know is shown as it is."""
    return str(Role(role).label) if role in Role.values else role


@register.simple_tag
def badge(status: object, word: object = "", size: str = "") -> SafeString:
    """A status as colour, icon and word; `word` replaces the usual word, `size` is "" or "lg"."""
    look = look_of(status)
    return _badge(look.tone, look.icon, str(word or look.word), size)


@functools.lru_cache(maxsize=512)
def _badge(tone: str, icon_name: str, word: str, size: str) -> SafeString:
    """Every row of a list has one: made once for each word."""
    return format_html(
        '<span class="badge tone-{}{}">{}{}</span>',
        tone,
        " badge-lg" if size == "lg" else "",
        icon(icon_name),
        word,
    )


@register.simple_tag
def when(at: datetime | None, empty: str = "") -> SafeString:
    """A moment: UTC in the page, relative in the reader's zone once the script runs; `empty` where None."""
    if not at:
        return format_html('<span class="muted">{}</span>', empty or NOTHING)
    utc = at.astimezone(UTC)
    exact = utc.isoformat(timespec="seconds")
    day, minute = exact[:10], exact[11:16]
    return format_html('<time datetime="{}" data-relative>{} {} UTC</time>', exact, day, minute)


@register.simple_tag
def age(
    as_of: datetime | None, late_after: int = 45, unreachable_since: datetime | None = None
) -> SafeString:
    """How old a live region's facts are; grey when older than `late_after` seconds or known unreachable."""
    if not as_of:
        return format_html('<span class="age late">{}</span>', _("not seen yet"))
    seconds = max(0, int((clock.now() - as_of).total_seconds()))
    late = bool(unreachable_since) or seconds > late_after
    since = unreachable_since or as_of
    if late:
        text = _("not reachable since {}").format(f"{since.astimezone(UTC):%H:%M} UTC")
    else:
        text = _("as of {}").format(ago(seconds))
    return format_html(
        '<span class="age{}" data-as-of="{}" data-late-after="{}"{}>{}</span>',
        " late" if late else "",
        as_of.astimezone(UTC).isoformat(),
        late_after,
        format_html(' data-since="{}"', unreachable_since.isoformat()) if unreachable_since else "",
        text,
    )


def ago(seconds: int) -> str:
    """A short age, in the words that the browser's own Intl uses: 4 sec. ago, 12 min. ago, 9 days ago."""
    if seconds >= 86400:
        return ngettext("{} day ago", "{} days ago", seconds // 86400).format(seconds // 86400)
    if seconds >= 3600:
        return _("{} hr. ago").format(seconds // 3600)
    return _("{} min. ago").format(seconds // 60) if seconds >= 60 else _("{} sec. ago").format(seconds)


@register.filter
def duration(value: timedelta | float | None) -> str:
    """A length of time in two units: 3 d 4 h, 1 h 04 min, 2 min 05 s, 8 s; a dash where None."""
    if value is None:
        return NOTHING
    seconds = int(value.total_seconds() if isinstance(value, timedelta) else value)
    days, hours, minutes = seconds // 86400, seconds % 86400 // 3600, seconds % 3600 // 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds % 60:02} s" if minutes else f"{seconds} s"


@register.simple_tag
def bar(parts: Iterable[Mapping[str, object]], unit: str = "") -> SafeString:
    """A stacked bar with its legend. Each part: label, value (a number), tone; drawn in the order given."""
    rows = [(str(part["label"]), float(str(part["value"])), str(part.get("tone", "grey"))) for part in parts]
    total = sum(value for _, value, _ in rows) or 1.0
    drawn: list[tuple[str, str, str]] = []
    x = 0.0
    for _label, value, colour in rows:
        width = 100 * value / total
        drawn.append((colour, f"{x:.2f}%", f"{width:.2f}%"))
        x += width
    return format_html(
        '<svg class="bar" aria-hidden="true">{}</svg><ul class="legend">{}</ul>',
        format_html_join("", '<rect class="tone-{}" x="{}" width="{}" height="8"></rect>', drawn),
        format_html_join(
            "", '<li class="tone-{}">{} {}</li>', ((c, f"{v:g}{unit}", label) for label, v, c in rows)
        ),
    )
