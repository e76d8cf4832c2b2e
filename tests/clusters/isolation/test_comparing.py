"""What is wanted, what the network holds and what servers list, compared; and what cannot be compared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest
import time_machine

from clusters.drivers.isolation import (
    Around,
    IsolationStep,
    Neighbour,
    SlurmDoor,
    api_server,
    finding,
    machines,
)
from clusters.drivers.isolation import slurm as slurm_check
from clusters.drivers.isolation.finding import Outcome
from clusters.isolation_words import SAID
from clusters.provisioning.steps import ClusterSpec, FlavorSpec, PoolSpec, StepContext
from portal.lib.errors import PermanentError, TemporaryError

FLAVOR = FlavorSpec("a100-4", "a100", 4, 16, 65536)
SPEC = ClusterSpec(
    id="0f1e2d3c-4b5a-4678-9abc-def012345678",
    name="c-mine",
    title="A",
    tenant="a",
    installation="tests",
    pools=(PoolSpec("train", FLAVOR, ("gpu-1", "gpu-2"), leaving=("gpu-3",)),),
    accounts=(),
    gid=0,
)
SITE = Around(elsewhere={"gpu-7": "c-theirs"}, inventory=frozenset({"gpu-1", "gpu-2", "gpu-3", "gpu-7"}))
WORDS = [
    getattr(module, name) for module in (finding, machines, api_server, slurm_check) for name in vars(module)
]


@pytest.mark.parametrize(
    ("facts", "outcome", "hint"),
    [
        ({"servers": "gpu-1,gpu-2"}, Outcome.PASSED, ""),
        ({"servers": "gpu-1,gpu-2,gpu-3"}, Outcome.PASSED, ""),  # one that is still emptied
        ({"ports": "gpu-1,gpu-2"}, Outcome.PASSED, ""),
        ({"servers": "gpu-1"}, Outcome.FAILED, "missing: gpu-2"),
        ({"servers": "gpu-1,gpu-2,gpu-7"}, Outcome.FAILED, "Too much there: gpu-7"),
        ({"vpc": "c-mine"}, Outcome.UNCHECKED, ""),
    ],
)
def test_the_network_holds_the_clusters_machines(facts: dict[str, str], outcome: Outcome, hint: str) -> None:
    found = machines.ports(SPEC, {"fabric": facts})
    assert (found.outcome, hint in found.hint) == (outcome, True)
    assert "gpu-" not in found.text
    assert machines.ports(SPEC, {}).outcome is Outcome.UNCHECKED


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        ({"gpu-1", "gpu-2"}, Outcome.PASSED),
        ({"gpu-1", "gpu-2", "made-by-a-member"}, Outcome.PASSED),
        ({"gpu-1", "gpu-2", "gpu-7"}, Outcome.FAILED),
        ({"ip-10-0-0-1", "ip-10-0-0-2"}, Outcome.UNCHECKED),
        (None, Outcome.UNCHECKED),
    ],
)
def test_nodes_are_the_clusters_machines(seen: set[str] | None, outcome: Outcome) -> None:
    assert machines.nodes(SPEC, seen, SITE).outcome is outcome


def test_a_machine_in_two_places_is_an_alarm() -> None:
    assert machines.alone(SPEC, {}, {"gpu-1"}, SITE).outcome is Outcome.PASSED
    for facts, seen in (({"fabric": {"servers": "gpu-1,gpu-7"}}, None), ({}, {"gpu-7"})):
        found = machines.alone(SPEC, facts, seen, SITE)
        assert (found.outcome, found.reason) == (Outcome.FAILED, "MachineSeenTwice")
        assert "gpu-7 also at c-theirs" in found.hint
        assert "theirs" not in found.text
    twice = Around(elsewhere={"gpu-3": "c-theirs"})
    assert machines.alone(SPEC, {}, None, twice).outcome is Outcome.FAILED


def test_slurm_tells_machines_by_their_own_names() -> None:
    found = machines.seen_by_slurm({"slurm": {"nodes": "n1=gpu-1,gpu-2"}})
    assert found == frozenset({"gpu-1", "gpu-2"})


def test_silence_is_neither_a_refusal_nor_an_acceptance() -> None:
    def silent() -> bool:
        raise TemporaryError("NotReachable", "It does not answer.")

    doors = [("a", lambda: False), ("b", silent), ("c", lambda: True)]
    assert finding.tally(doors, until=float("inf")) == (1, ["c"])
    assert finding.tally(doors, until=0) == (0, [])  # no time left


def test_every_sentence_is_known_to_the_page() -> None:
    told = {one.text for one in WORDS if isinstance(one, finding.Finding)}
    told |= {f"not checked, because {getattr(finding, name)}" for name in vars(finding) if name.isupper()}
    for name in ("NO_FABRIC", "OTHER_NAMES", "NO_NODES", "NO_MACHINES"):
        told.add(finding.unchecked(getattr(machines, name)).text)
    for text in (machines.PORTS_DIFFER, machines.NODES_DIFFER, machines.TWICE, api_server.TAKEN):
        told.add(f"failed: {text}")
    told.add(f"failed: {slurm_check.TAKEN}")
    assert told == SAID


class Kept:
    """A context whose secrets are kept."""

    def __init__(self, around: Around, facts: Mapping[str, Any]) -> None:
        self.around = around
        known: dict[str, bytes] = {}
        self.ctx = StepContext(
            spec=SPEC, facts=facts, secrets=known, keep=lambda name, value, _: known.update({name: value})
        )
        self.step = IsolationStep(lambda _: self.around)


def test_what_was_shown_is_told_for_an_hour_and_only_about_the_same() -> None:
    kept = Kept(Around(), {"fabric": {"servers": "gpu-1,gpu-2"}})
    with time_machine.travel(dt.datetime(2026, 3, 1, tzinfo=dt.UTC), tick=False) as now:
        first = kept.step.observe(kept.ctx)
        assert (first.exists, first.in_sync, first.ready) == (True, True, True)
        assert first.facts["slurm"] == "not checked, because this cluster has no Slurm"
        now.shift(dt.timedelta(minutes=59))
        assert kept.step.observe(kept.ctx).facts == first.facts
        now.shift(dt.timedelta(minutes=2))
        assert kept.step.observe(kept.ctx).facts["checked_at"] != first.facts["checked_at"]
    kept.around = Around(elsewhere={"gpu-1": "c-theirs"})
    seen = kept.step.observe(kept.ctx)
    assert (seen.in_sync, seen.routine, seen.reason) == (False, True, "MachineSeenTwice")
    with pytest.raises(PermanentError) as refused:
        kept.step.apply(kept.ctx)
    assert "c-theirs" in refused.value.hint
    assert "theirs" not in f"{refused.value.message} {seen}"
    kept.around = Around()
    assert kept.step.observe(kept.ctx).ready  # mended: the next look tells
    kept.step.remove(kept.ctx)
    going = StepContext(spec=SPEC, facts={"isolation": {}}, secrets=kept.ctx.secrets)
    assert kept.step.observe(going).exists is False


def test_other_servers_that_are_silent_are_tried_again_soon() -> None:
    dead = SlurmDoor("http://127.0.0.1:9", "v0.0.38", "fhothers1", b"k" * 32)
    kept = Kept(Around((Neighbour("c-theirs", slurm=dead),)), {"slurm": {"url": "http://127.0.0.1:9"}})
    with time_machine.travel(dt.datetime(2026, 3, 1, tzinfo=dt.UTC), tick=False) as now:
        first = kept.step.observe(kept.ctx)
        assert first.ready
        now.shift(dt.timedelta(minutes=2))
        again = kept.step.observe(kept.ctx)
        # this cluster has no account that looks: nothing was tried, and nothing is to be tried soon
        assert again.facts == first.facts
    found = slurm_check.check(dead, None, kept.around.neighbours, until=float("inf"))
    assert (found.outcome, found.again) == (Outcome.UNCHECKED, True)
    assert found.text == "not checked, because this cluster's own server did not answer"
