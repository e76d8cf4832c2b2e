"""Each example of docs/sites.md is a site whose plan can be made."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from clusters.models import Site
from clusters.provisioning.registry import CONCERNS, FACTORIES, steps_for
from portal.lib.errors import PermanentError

PAGE = Path(__file__).parents[2] / "docs" / "sites.md"
BLOCK = re.compile(r"```json site=(\S+) stack=(\S+)\n(.*?)```", re.DOTALL)
EXAMPLES = {name: (stack, json.loads(text)) for name, stack, text in BLOCK.findall(PAGE.read_text("utf-8"))}
STEPS = {
    "platform": {"machines", "fabric", "control-plane", "access", "gpu", "home", "accounting", "slurm"},
    "gitops": {"machines", "control-plane", "access", "home", "slurm"},
    "picked": {"machines", "control-plane", "nodes", "access", "slurm", "isolation"},
    "embedded": {"machines", "fabric", "control-plane", "slurm", "identity", "smoke"},
}


def site_of(example: dict[str, Any]) -> Site:
    return Site(name="DC 1", slug="dc1", drivers=example["drivers"], settings=example["settings"])


def test_the_page_has_an_example_for_each_profile() -> None:
    assert set(EXAMPLES) == set(STEPS)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_an_example_gives_a_plan(name: str) -> None:
    stack, example = EXAMPLES[name]
    names = {step.name for step in steps_for(site_of(example), stack)}
    assert names >= STEPS[name]


@pytest.mark.parametrize("name", ["platform", "gitops"])
def test_a_misspelt_key_of_an_example_is_named(name: str) -> None:
    stack, example = EXAMPLES[name]
    assert steps_for(site_of(example), stack)
    for section in ("metal3", "slinky", "delivery"):
        spoilt = {**example["settings"], section: {**example["settings"][section], "misspelt": 1}}
        with pytest.raises(PermanentError) as refused:
            steps_for(site_of({**example, "settings": spoilt}), stack)
        assert refused.value.reason == "BadSiteSettings"
        assert "misspelt" in refused.value.message


def test_the_page_names_every_driver_and_concern() -> None:
    text = PAGE.read_text("utf-8")
    # "access" and the steps of a stack come with its control plane or stack
    assert [one for one in (*FACTORIES, *CONCERNS) if f"`{one}`" not in text and one != "access"] == []
