"""The design system: contrast of the tokens, size of what a page loads, and one look for each status."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.template import engines
from django.utils.html import escape

from clusters.models.catalogue import MachineState
from clusters.models.cluster import Phase
from clusters.models.order import OrderState
from clusters.models.progress import StepStatus
from jobs.models import JobState, SubmissionState
from portal.web.status import ICONS, TONES, look_of
from portal.web.templatetags import ui
from tests.cases import case

STATIC = Path(__file__).resolve().parents[2] / "static"
TOKEN = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
TOKENS = {name: pair for name, *pair in TOKEN.findall((STATIC / "css" / "app.css").read_text())}
GROUNDS = ("bg", "bg-sunken", "bg-raised")
INKS = ("text", "text-2", "text-3", "accent-ink", *TONES)


def brightness(colour: str) -> float:
    """WCAG's relative luminance of #rrggbb."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio."""
    dark, light = sorted((brightness(one), brightness(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_is_legible_on_every_ground(theme: int) -> None:
    pairs = [(ink, ground) for ink in INKS for ground in GROUNDS]
    pairs += [(tone, f"{tone}-soft") for tone in TONES]
    pairs += [("text", f"{tone}-soft") for tone in TONES] + [("text", "accent-soft"), ("text-2", "bg-hover")]
    weak = {
        pair: round(found, 2)
        for pair in pairs
        if (found := contrast(TOKENS[pair[0]][theme], TOKENS[pair[1]][theme])) < 4.5
    }
    assert weak == {}


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_buttons_and_edges_of_fields_can_be_seen(theme: int) -> None:
    for ground in ("accent", "accent-hover", "danger", "danger-hover"):
        assert contrast("#ffffff", TOKENS[ground][theme]) >= 4.5, ground
    assert contrast(TOKENS["line-strong"][theme], TOKENS["bg"][theme]) >= 3


def test_what_a_page_loads_is_small() -> None:
    sizes = {path.name: path.stat().st_size for path in STATIC.rglob("*") if path.is_file()}
    assert sizes["app.css"] < 40_000
    assert sizes["app.js"] < 14_000
    assert sizes["icons.svg"] < 16_000


@pytest.mark.parametrize("words", [OrderState, Phase, StepStatus, MachineState, JobState, SubmissionState])
def test_every_state_of_the_models_has_a_look(words: type) -> None:
    listed = {word for group in TONES.values() for word in group.split()}
    assert {str(member.value).lower() for member in words} <= listed  # type: ignore[attr-defined]


def test_a_status_has_one_tone_and_an_icon_that_exists() -> None:
    words = [word for group in TONES.values() for word in group.split()]
    assert len(words) == len(set(words))
    drawn = set(re.findall(r'<symbol id="([\w-]+)"', (STATIC / "icons.svg").read_text()))
    assert {look_of(word).icon for word in words} | set(ICONS.values()) <= drawn


def test_a_status_of_a_newer_slurm_is_shown_by_its_own_word() -> None:
    look = look_of("REVOKED_BY_FEDERATION")
    assert (look.tone, look.icon, look.word) == ("grey", "unknown", "Revoked by federation")


@case("U03")
@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>", 'it\'s "v2"', "数据-训练 🚀", "$(id)"])
def test_names_are_escaped_by_every_component(name: str) -> None:
    source = """{% load ui %}{% badge "RUNNING" name %}{% bar parts %}{% icon "job" name %}
      {% include "components/copy.html" with text=name %}
      {% include "components/empty.html" with title=name text=name %}
      {% include "components/timeline.html" with items=items %}
      {% include "components/output.html" with text=name %}
      {% include "components/dialog.html" with id="d" title=name text=name confirm=name typed=name %}
      {% include "components/banner.html" with text=name %}
      {% include "components/toast.html" with text=name %}"""
    item = {"title": name, "status": "ready", "component": name, "reason": name, "detail": name}
    html = (
        engines["django"]
        .from_string(source)
        .render({"name": name, "items": [item], "parts": [{"label": name, "value": 1}]})
    )
    assert escape(name) in html
    assert "<img" not in html


def test_an_age_is_grey_when_late_or_known_unreachable() -> None:
    now = datetime.now(UTC)
    assert "late" not in ui.age(now).split("data-")[0]
    assert "not reachable since" in ui.age(now - timedelta(seconds=46))
    assert "not reachable since" in ui.age(now, unreachable_since=now)
    assert "not seen yet" in ui.age(None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(8, "8 s"), (125, "2 min 05 s"), (3840, "1 h 04 min"), (93600, "1 d 2 h"), (None, ui.NOTHING)],
)
def test_lengths_of_time_are_two_units(seconds: int | None, text: str) -> None:
    assert ui.duration(seconds) == text


@pytest.mark.parametrize("status", [400, 403, 404, 409, 500, 502, 503])
def test_error_pages_need_no_request(status: int) -> None:
    html = engines["django"].get_template(f"errors/{status}.html").render({})
    assert str(status) in html
    assert "<h1>" in html
