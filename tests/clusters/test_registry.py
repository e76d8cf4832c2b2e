"""Which steps make a cluster: composed from the drivers that a site names."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import pytest

from clusters.models import Site
from clusters.provisioning import use
from clusters.provisioning.previews import preview_of
from clusters.provisioning.registry import EVERYWHERE, FACTORIES, Wanted, steps_for
from clusters.provisioning.steps import Change, ClusterSpec, Observed, StepContext
from portal.lib.errors import PermanentError


@dataclass
class Idle:
    """A step that does nothing."""

    name: str
    needs: tuple[str, ...] = ()
    component: str = "Test"
    deadline: dt.timedelta = dt.timedelta(minutes=1)

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        return (self.name,)

    def observe(self, ctx: StepContext) -> Observed:
        return Observed(exists=True, in_sync=True, ready=True)

    def apply(self, ctx: StepContext) -> None:
        raise AssertionError("nothing to apply")

    def remove(self, ctx: StepContext) -> None:
        raise AssertionError("nothing to remove")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {
        "metal": {"machines": [Idle("machines")]},
        "net": {"fabric": [Idle("fabric", ("machines",))]},
        "plane": {"control_plane": [Idle("control-plane", ("fabric",)), Idle("access", ("control-plane",))]},
        "batch": {"slurm": [Idle("slurm", ("access", "home"))], "gpu": [Idle("gpu", ("access",))]},
    }

    def factory(name: str) -> None:
        def steps(wanted: Wanted) -> tuple[Idle, ...]:
            return tuple(
                step for key, made_by in made[name].items() if key in wanted.concerns for step in made_by
            )

        monkeypatch.setitem(FACTORIES, name, steps)

    for name in made:
        factory(name)
    monkeypatch.setitem(FACTORIES, EVERYWHERE, lambda wanted: ())


def names(drivers: dict[str, str], stack: str = "slurm") -> list[str]:
    return [step.name for step in steps_for(Site(name="North", drivers=drivers), stack)]


def test_each_driver_gives_the_steps_of_its_concerns_in_the_order_of_needs() -> None:
    site = {"slurm": "batch", "gpu": "batch", "machines": "metal", "fabric": "net", "control_plane": "plane"}
    found = names(site)
    assert sorted(found) == ["access", "control-plane", "fabric", "gpu", "machines", "slurm"]
    assert (
        found.index("machines") < found.index("fabric") < found.index("control-plane") < found.index("access")
    )
    assert found.index("access") < min(found.index("gpu"), found.index("slurm"))


def test_who_needs_what_a_site_may_do_without_needs_nothing_instead() -> None:
    steps = steps_for(Site(name="North", drivers={"slurm": "batch", "control_plane": "plane"}), "slurm")
    assert {step.name: step.needs for step in steps} == {
        "control-plane": (),
        "access": ("control-plane",),
        "slurm": ("access",),
    }
    # what stands in the plan is still the driver's own step
    slurm = steps[-1]
    assert (slurm.component, slurm.deadline) == ("Test", dt.timedelta(minutes=1))


@pytest.mark.parametrize(
    ("drivers", "reason", "says"),
    [
        ({"slurm": "lonely"}, "BadPlan", "control-plane"),
        ({"machines": "metal"}, "StackNotServed", "slurm"),
        ({"slurm": "unheard-of"}, "NoDriver", "North"),
        ({"machines": "metal", "slurm": "twice"}, "BadPlan", "machines"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    monkeypatch: pytest.MonkeyPatch, drivers: dict[str, str], reason: str, says: str
) -> None:
    monkeypatch.setitem(FACTORIES, "twice", lambda wanted: (Idle("machines"),))
    monkeypatch.setitem(FACTORIES, "lonely", lambda wanted: (Idle("slurm", ("control-plane", "access")),))
    with pytest.raises(PermanentError) as refused:
        names(drivers)
    assert refused.value.reason == reason
    assert says in refused.value.message


class Shows(Idle):
    """A step that can tell what it would touch."""

    def preview(self, ctx: StepContext) -> tuple[Change, ...]:
        return (Change("create", "Test", self.name),)


def test_a_step_without_a_neighbour_still_shows_what_it_would_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FACTORIES, "shows", lambda wanted: (Shows("slurm", ("home",)),))
    (step,) = steps_for(Site(name="North", drivers={"slurm": "shows"}), "slurm")
    assert step.needs == ()
    ctx = StepContext(spec=ClusterSpec("1", "c-1", "A", "a", "tests", (), (), 0))
    assert preview_of(step, ctx)["changes"][0]["thing"] == "slurm"


def test_every_plan_ends_with_the_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FACTORIES, EVERYWHERE, lambda wanted: (Idle("isolation", wanted.before),))
    drivers = {"slurm": "batch", "control_plane": "plane"}
    steps = steps_for(Site(name="North", drivers=drivers), "slurm")
    assert (steps[-1].name, steps[-1].needs) == ("isolation", ("control-plane", "access", "slurm"))
    assert "isolation" not in use.needed(steps)
    monkeypatch.setitem(FACTORIES, "batch", lambda wanted: (Idle("smoke", ("access",)),))
    steps = steps_for(Site(name="North", drivers=drivers), "slurm")
    assert steps[-1].needs == ("smoke",)
