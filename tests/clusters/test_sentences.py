"""What workers store as sentences can be said in another language: every sentence of the sources is known."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from django.utils import translation

from clusters import plans, reasons, sentences
from tests.architecture import sources

REASON = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z0-9]*)*")
PART = "\0"
# What is a part of a sentence only, or shown to nobody but in logs.
NO_SENTENCES = {
    "{} is {}.": "says what a vendor's own words are",
    "{}, {} are up to date.": "begins with counts of a vendor's",
    "{}; and {} more.": "begins with another sentence",
    "{}. Take it out at one of them.": "begins with a list",
    "Seen there: {}.": "is a list",
    "The template {}.": "goes on with what is wrong with it",
    "VPC {} also holds {}.": "is a list",
    "{} not as wanted any more.": "is built of three sentences that are known",
    "The demo's site does not exist in production.": "ends a command",
    "Not there": "is a difference, not a sentence",
    "Not wanted any more": "is a difference, not a sentence",
    "no machine was chosen yet": "goes on a sentence",
    "its machine is being set up": "goes on a sentence",
    "it has not joined the cluster yet": "goes on a sentence",
}


def text_of(node: ast.expr | None) -> str:
    """A text with its changing parts marked; "" for what is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else PART for one in node.values)
    if isinstance(node, ast.BoolOp):
        return text_of(node.values[-1])
    if isinstance(node, ast.IfExp):
        return text_of(node.body) or text_of(node.orelse)
    return ""


def told_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What follows a reason, and what is named message or hint."""
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        if isinstance(node, ast.Call | ast.Tuple):
            parts = node.args if isinstance(node, ast.Call) else node.elts
            for at, part in enumerate(parts):
                if isinstance(part, ast.Constant) and REASON.fullmatch(str(part.value)):
                    found += parts[at + 1 :]
        if isinstance(node, ast.Call):
            found += [one.value for one in node.keywords if one.arg in {"message", "hint"}]
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in {"message", "hint"}:
            found.append(node.value)
        yield from ((one.lineno, text) for one in found if is_sentence(text := text_of(one)))


def is_sentence(text: str) -> bool:
    return bool(re.search(r"[A-Za-z]{2,} |\0 [a-z]", text))


def is_known(text: str) -> bool:
    filled = text.replace(PART, "x1")
    return sentences.is_known(filled) or sentences.is_known(text.rstrip(PART).replace(PART, "x1"))


def test_every_sentence_that_a_worker_stores_can_be_said_in_another_language() -> None:
    found, unknown = 0, []
    for path in sources.python_files("clusters"):
        if path.match("*/admin/*") or path.match("*/api/*"):
            continue
        for line, text in told_in(sources.tree_of(path)):
            found += 1
            if text.replace(PART, "{}") not in NO_SENTENCES and not is_known(text):
                unknown.append(f"{sources.name_of(path)}:{line}: {text.replace(PART, '{}')}")
    assert found > 300
    assert not unknown, "\n".join(
        ["enter them in clusters/said_here.py or said_vendors.py, {0} for what changes:", *unknown]
    )


@pytest.mark.parametrize(
    ("stored", "german"),
    [
        ("To be taken out: a100-4-03.", "Herauszunehmen: a100-4-03."),
        (
            "Not done within 120 s. Last: To be taken out: a100-4-03.",
            "Nicht innerhalb von 120 s fertig. Zuletzt: Herauszunehmen: a100-4-03.",
        ),
        ("Job 8 in partition gpu is PENDING.", "Job 8 in Partition gpu ist PENDING."),
        ("Something of a vendor's.", "Something of a vendor's."),
        ("{0} braces {", "{0} braces {"),
    ],
)
def test_a_stored_sentence_reads_in_the_readers_language(stored: str, german: str) -> None:
    assert sentences.told(stored) == stored
    with translation.override("de"):
        assert sentences.told(stored) == german


def test_a_reason_has_its_sentence_and_its_detail_in_one_language() -> None:
    with translation.override("de"):
        told = reasons.explain("NodesLeaving", "To be taken out: n1.")
        assert told.endswith("Herauszunehmen: n1.")
        assert "Nodes are" not in told
        assert plans.said("node n1 of pool gpu (simulated)") == "Knoten n1 der Gruppe gpu (simuliert)"


def test_what_says_most_wins() -> None:
    longer = "The account with which the isolation is tried is not there yet."
    assert sentences._match(longer) == (longer, ())
    assert sentences._match("NodeSet x is not there yet.") == ("NodeSet {0} is not there yet.", ("x",))
