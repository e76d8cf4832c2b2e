"""The table of options against what the real client of each release says that it knows."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from jobs.parsing.options import OPTIONS, Target
from tests.contract.slurmrest.lab import SlurmLab
from tests.contract.slurmrest.places import RELEASES

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("parity")]
_LONG = re.compile(r"(?<![\w-])--([a-z][a-z-]+[a-z])")
_SHORT = re.compile(r"^\s+-([A-Za-z]), --([a-z-]+)", re.MULTILINE)
GONE = {"power"}  # newer clients still tell of it and no longer know it


@pytest.mark.parametrize("release", RELEASES)
def test_each_option_that_the_client_tells_of_stands_in_the_table(
    parity_lab: Callable[[str], SlurmLab], release: str
) -> None:
    lab = parity_lab(release)
    target = Target.of(lab.versions[0], lab.gateway().ping().release)
    table = {option.name: option for option in OPTIONS if option.is_known_to(target)}
    shown = "".join(lab.run(["sbatch", word], member=0).stdout for word in ("--help", "--usage"))
    names = set(_LONG.findall(shown)) - (set() if target.release < (24, 5) else GONE)
    assert len(names) > 80
    assert names - set(table) == set()
    letters = dict(_SHORT.findall(shown))
    assert len(letters) > 20
    assert {letter: name for letter, name in letters.items() if table[name].short != letter} == {}


@pytest.mark.parametrize("release", RELEASES)
def test_the_client_knows_each_option_of_the_table_and_no_other(
    parity_lab: Callable[[str], SlurmLab], release: str
) -> None:
    lab = parity_lab(release)
    target = Target.of(lab.versions[0], lab.gateway().ping().release)
    asked = {option.name: f"--{option.name}" for option in OPTIONS if option.name != "usage"}
    loop = 'for name in "$@"; do echo "= $name"; sbatch "--$name" --bogus-at-the-end /dev/null; done 2>&1'
    said = lab.run(["bash", "-c", loop, "loop", *asked], member=0, check=False).stdout
    answers = {part.split("\n", 1)[0].strip(): part for part in said.split("= ")[1:]}
    unknown = {name for name in asked if f"unrecognized option '--{name}'" in answers.get(name, "")}
    assert unknown == {option.name for option in OPTIONS if not is_taken(option.name, target)}


def is_taken(name: str, target: Target) -> bool:
    """Known by itself, or the beginning of one other that is."""
    known = [option.name for option in OPTIONS if option.is_known_to(target)]
    return name in known or len([other for other in known if other.startswith(name)]) == 1
