"""Parameters: how they are declared, read and put into a script."""

from __future__ import annotations

import pytest

from jobs.examples import EXAMPLES, Example
from jobs.job_templates import parameters
from jobs.job_templates.parameters import Parameter, declared, fill
from jobs.parsing.sbatch import read_directives
from portal.lib.errors import BadInput

SCRIPT = '#!/bin/bash\n#SBATCH --nodes={{nodes}}\necho "{{word}}" {{ word }} {{other}} ${{X}}\n'
NODES, WORD = Parameter("nodes", "Nodes", "2", "number"), Parameter("word", "Word")


def test_places_of_declared_names_are_filled_and_nothing_else() -> None:
    filled = fill(SCRIPT, (NODES, WORD), {"word": "it's <b>"})
    assert filled == "#!/bin/bash\n#SBATCH --nodes=2\necho \"it's <b>\" it's <b> {{other}} ${{X}}\n"
    assert parameters.unfilled(SCRIPT, (NODES, WORD)) == ["other"]
    # an answer that looks like a place is a text
    assert "{{nodes}}" in fill(SCRIPT, (NODES, WORD), {"word": "{{nodes}}"})


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        (WORD, ""),
        (WORD, "two\nlines"),
        (WORD, "nul\0"),
        (WORD, "x" * 201),
        (NODES, "two"),
        (NODES, "-1"),
        (NODES, "1.5"),
        (NODES, "\u0663"),
        (NODES, "9" * 30),
        (Parameter("model", "Model", "", "choice", ("7b", "13b")), "70b"),
    ],
)
def test_answers_that_do_not_fit_are_told_beside_their_parameter(parameter: Parameter, text: str) -> None:
    with pytest.raises(BadInput) as refused:
        fill("{{" + parameter.name + "}}", (parameter,), {parameter.name: text})
    assert set(refused.value.fields) == {parameter.name}


def test_what_is_written_reads_as_it_was() -> None:
    text = "nodes | Nodes | 2\nmodel | Model | 7b | 7b, 13b\nword\nfree | Some words | hello there"
    found = parameters.parse(text.splitlines())
    assert [one.kind for one in found] == ["number", "choice", "text", "text"]
    assert found[1].choices == ("7b", "13b")
    assert parameters.parse(parameters.write(found).splitlines()) == found
    assert parameters.from_json(parameters.to_json(found)) == found


@pytest.mark.parametrize(
    "made",
    [
        Parameter("rate", "Rate | per step", "a|b"),
        Parameter("path", "Folder\\", "C:\\|d"),
        Parameter("pair", "One, two", "a,b", "choice", ("a,b", "c|d", "e\\")),
    ],
)
def test_what_a_program_named_with_our_signs_is_edited_without_loss(made: Parameter) -> None:
    assert parameters.parse(parameters.write([made]).splitlines()) == (made,)


def test_a_line_that_nobody_touched_is_what_it_was() -> None:
    digits = Parameter("tag", "Tag", "7")  # a text, which a line of the form would make a number
    lines = [*parameters.write([digits]).splitlines(), "rate | Rate | 3"]
    assert [one.kind for one in parameters.parse(lines)] == ["number", "number"]
    assert [one.kind for one in parameters.parse(lines, [digits])] == ["text", "number"]


@pytest.mark.parametrize(
    "line",
    [
        "a | b | c | d | e",
        "Nodes | Upper case",
        "nodes | " + "x" * 61,
        "nodes | Nodes | 3 | 1, 2",
        "nowhere | Nowhere",
        "nodes\nnodes | Twice",
    ],
)
def test_what_cannot_be_declared_is_refused_with_a_reason(line: str) -> None:
    with pytest.raises(BadInput) as refused:
        declared(parameters.parse(line.splitlines()), SCRIPT)
    assert refused.value.fields["parameters"]
    assert declared(parameters.parse(["nodes | Nodes | 3 | 3, 4", "word | Word"]), SCRIPT)


@pytest.mark.parametrize("known", EXAMPLES, ids=lambda known: known.name)
def test_built_in_templates_have_a_place_for_each_parameter_and_read_as_scripts(known: Example) -> None:
    assert declared(known.parameters, known.script) == known.parameters
    directives = read_directives(known.as_it_is)
    assert directives.problems == []
    assert "name" in directives.values
