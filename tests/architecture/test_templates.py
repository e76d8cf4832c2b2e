"""Templates hold structure only: styles, scripts and handlers stand in files, and text is always escaped."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture import sources

RULES = {
    "a style attribute": re.compile(r"<[^>]*\sstyle\s*=", re.IGNORECASE),
    "a style element": re.compile(r"<style[\s>]", re.IGNORECASE),
    "an event handler": re.compile(r"<[a-z][^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "a script in the page": re.compile(r"<script(?![^>]*\ssrc=)[^>]*>", re.IGNORECASE),
    "an htmx expression that needs eval": re.compile(r"hx-(?:on|vars)\b|\bjs:", re.IGNORECASE),
    "a javascript address": re.compile(r"javascript:", re.IGNORECASE),
    "text that is not escaped": re.compile(r"\|\s*safe(?:seq)?\b|autoescape\s+off"),
    "something of another host": re.compile(r"(?:src|srcset|action|poster)\s*=\s*[\"'](?:https?:)?//"),
    "a style sheet of another host": re.compile(r"<link[^>]*href\s*=\s*[\"'](?:https?:)?//", re.IGNORECASE),
}


def problems(path: Path) -> dict[str, str]:
    """The rules that a template breaks, with the text that does; what stands in comments is left out."""
    text = re.sub(
        r"{#.*?#}|{% comment.*?endcomment %}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    return {name: match[0] for name, rule in RULES.items() if (match := rule.search(text))}


def test_templates_are_structure_only() -> None:
    found = {sources.name_of(path): problems(path) for path in sources.templates()}
    assert found
    assert {name: broken for name, broken in found.items() if broken} == {}


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ('<p style="color: red">', "a style attribute"),
        ('<button type="button" onclick="x()">', "an event handler"),
        ("<script>x()</script>", "a script in the page"),
        ("{{ job.name | safe }}", "text that is not escaped"),
        ('<img src="//cdn.example/x.png">', "something of another host"),
        ('<link rel="stylesheet" href="https://cdn.example/x.css">', "a style sheet of another host"),
    ],
)
def test_each_rule_finds_what_it_is_for(bad: str, rule: str) -> None:
    assert RULES[rule].search(bad)


def test_no_module_marks_a_variable_as_safe() -> None:
    wrong = [
        f"{sources.name_of(path)}:{call.lineno}"
        for path in sources.python_files()
        for name, call in sources.calls(path)
        if name.rpartition(".")[2] in {"mark_safe", "SafeString"}
        and not (call.args and isinstance(call.args[0], ast.Constant))
    ]
    assert wrong == [], "use format_html, which escapes"


def test_styles_and_scripts_name_no_other_host() -> None:
    for path in [*(sources.ROOT / "static").rglob("*.css"), *(sources.ROOT / "static").rglob("*.js")]:
        text = path.read_text(encoding="utf-8")
        others = re.findall(r"(?:url\(|import\s*\(?|fetch\()\s*[\"']?(?:https?:)?//[^\s\"')]+", text)
        assert others == [], sources.name_of(path)
