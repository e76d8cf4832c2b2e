"""A site that does not exist: steps with state in a folder, so that it outlives a killed worker.

Knobs (a JSON file in the folder) make a step slow, fail or lose its answer. Every verb is written to a
log; `creations` says what was made how often.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clusters import told
from clusters.provisioning.registry import EVERYWHERE, FACTORIES, Wanted
from clusters.provisioning.steps import Change, ClusterSpec, Difference, Observed, Step, StepContext
from portal.lib.errors import PermanentError, TemporaryError
from portal.lib.types import JSONDict

DRIVER = "fake"
NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("machines", ()),
    ("fabric", ("machines",)),
    ("slurm", ("machines", "fabric")),
    ("identity", ("slurm",)),
    ("smoke", ("identity",)),
)


@dataclass(frozen=True, slots=True)
class World:
    """The outside: one file per thing that a step made."""

    folder: Path

    def thing(self, step: str, cluster: str) -> Path:
        """The file of one thing."""
        return self.folder / "things" / f"{step}.{cluster}.json"

    def things(self) -> list[str]:
        """Everything that exists."""
        return sorted(path.stem for path in (self.folder / "things").glob("*.json"))

    def set(self, step: str, **knobs: object) -> None:
        """fail: temporary, port, permanent or bug; on: verb that fails (apply); lost: the answer of apply
        gets lost; slow: observations until ready; busy: ids of jobs on machines that are to leave; when:
        fails only while the spec holds this machine; held: names of clusters whose thing is not let go."""
        every = self.knobs()
        every[step] = knobs
        write(self.folder / "knobs.json", every)

    def knobs(self) -> JSONDict:
        """All knobs."""
        return read(self.folder / "knobs.json")

    def log(self, step: str, verb: str, what: str = "") -> None:
        """Add a line; one write of less than a page is never torn."""
        with (self.folder / "log").open("a", encoding="utf-8") as file:
            file.write(f"{step} {verb} {what}\n")

    def calls(self, verb: str) -> list[str]:
        """Steps on which the verb was called, in order."""
        return [line.split()[0] for line in self.lines() if line.split()[1] == verb]

    def lines(self) -> list[str]:
        """The log."""
        path = self.folder / "log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def fault(self, point: str) -> None:
        """Die here if the knob "die_at" names this point: the n-th one that is passed in this process."""
        wanted = os.environ.get("FAKE_DIE_AT")
        if wanted is None:
            return
        _passed.append(point)
        if len(_passed) == int(wanted):
            self.log("worker", "killed", point)
            os.kill(os.getpid(), signal.SIGKILL)


_passed: list[str] = []
_real = FACTORIES[EVERYWHERE]


class FakeStep:
    """One step with state."""

    component = "Fake"

    def __init__(self, world: World, name: str, needs: tuple[str, ...]) -> None:
        self.world = world
        self.name = name
        self.needs = needs
        self.deadline = dt.timedelta(seconds=60)

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        machines = [machine for pool in spec.pools for machine in pool.machines]
        return tuple(f"{self.name} of {machine}" for machine in machines)

    def observe(self, ctx: StepContext) -> Observed:
        self._verb("observe", ctx)
        thing = read(self.world.thing(self.name, ctx.spec.name))
        if not thing:
            return Observed(exists=False)
        slow = int(self.world.knobs().get(self.name, {}).get("slow", 0))
        looks = int(thing.get("looks", 0)) + 1
        write(self.world.thing(self.name, ctx.spec.name), {**thing, "looks": looks})
        in_sync = self._fits(thing["wanted"], ctx.spec)
        if ctx.spec.name in self.world.knobs().get(self.name, {}).get("held", []) and thing.get("going"):
            text = f"Thing {self.name} is held by metal3.io/host, vendor.example/hook for 12 min."
            return Observed(exists=True, reason="Finalizer", message=text)
        if jobs := self._busy(thing["wanted"], ctx.spec):
            text = f"Jobs {jobs} still run."
            return Observed(
                exists=True, in_sync=in_sync, reason="NodesBusy", message=text, waits_for="running jobs"
            )
        return Observed(
            exists=True,
            in_sync=in_sync,
            ready=in_sync and looks > slow,
            reason="" if looks > slow else "Starting",
            message="" if looks > slow else "It is starting.",
            differences=() if in_sync else (self._difference(thing["wanted"], ctx.spec),),
            facts=self._facts(ctx),
        )

    def preview(self, ctx: StepContext) -> tuple[Change, ...]:
        if self.world.knobs().get(self.name, {}).get("on") == "preview":
            raise_as(str(self.world.knobs()[self.name]["fail"]))
        there = read(self.world.thing(self.name, ctx.spec.name))
        if not there:
            return (Change("create", "Fake", self.name, text=json.dumps(wanted(ctx.spec))),)
        if self._fits(there["wanted"], ctx.spec):
            return ()
        return (
            Change("change", "Fake", self.name, differences=(self._difference(there["wanted"], ctx.spec),)),
        )

    def _difference(self, there: JSONDict, spec: ClusterSpec) -> Difference:
        return Difference(self.name, "pools", json.dumps(wanted(spec)["pools"]), json.dumps(there["pools"]))

    def apply(self, ctx: StepContext) -> None:
        self._verb("apply", ctx)
        path = self.world.thing(self.name, ctx.spec.name)
        known = read(path)
        if not known:
            self.world.log(self.name, "created", ctx.spec.name)
        held = wanted(ctx.spec)
        if self._holds() or self._busy(known.get("wanted", {}), ctx.spec):
            for pool in ctx.spec.pools:
                there = known.get("wanted", {}).get("pools", {}).get(pool.name, [])
                held["pools"].setdefault(pool.name, []).extend(set(pool.leaving) & set(there))
        write(path, {"wanted": held, "cluster": ctx.spec.id, "looks": known.get("looks", 0)})
        self._after("apply")

    def remove(self, ctx: StepContext) -> None:
        self._verb("remove", ctx)
        if ctx.spec.name in self.world.knobs().get(self.name, {}).get("held", []):
            path = self.world.thing(self.name, ctx.spec.name)
            write(path, {**read(path), "going": True})
            return
        self.world.thing(self.name, ctx.spec.name).unlink(missing_ok=True)
        self._after("remove")

    def _holds(self) -> bool:
        """These only hold machines; the others run things on them."""
        return self.name in {"machines", "fabric"}

    def _fits(self, there: JSONDict, spec: ClusterSpec) -> bool:
        if there["accounts"] != wanted(spec)["accounts"]:
            return False
        stay = {machine for pool in spec.pools for machine in pool.machines}
        spare = {machine for pool in spec.pools for machine in pool.leaving}
        found = {machine for machines in there["pools"].values() for machine in machines}
        may_hold = self._holds() or bool(self._busy(there, spec))
        return stay <= found <= (stay | spare if may_hold else stay)

    def _busy(self, there: JSONDict, spec: ClusterSpec) -> str:
        found = {machine for machines in there.get("pools", {}).values() for machine in machines}
        leaving = {machine for pool in spec.pools for machine in pool.leaving}
        busy = self.name == "slurm" and self.world.knobs().get("slurm", {}).get("busy")
        return str(busy) if busy and leaving & found else ""

    def _facts(self, ctx: StepContext) -> dict[str, str]:
        if self.name == "slurm":
            return {"url": "http://127.0.0.1:9", "api_version": "v0.0.38", "release": "22.05.8"}
        return {"needs": ",".join(sorted(ctx.facts.keys() - {"order"}))}

    def _verb(self, verb: str, ctx: StepContext) -> None:
        self.world.fault(f"{self.name} before {verb}")
        self.world.log(self.name, verb)
        knobs = self.world.knobs().get(self.name, {})
        machines = {machine for pool in ctx.spec.pools for machine in pool.machines}
        if "when" in knobs and knobs["when"] not in machines:
            return
        if knobs.get("fail") and verb in str(knobs.get("on", "observe apply remove")).split():
            raise_as(str(knobs["fail"]))

    def _after(self, verb: str) -> None:
        self.world.fault(f"{self.name} after {verb}")
        if self.world.knobs().get(self.name, {}).get("lost"):
            raise TemporaryError("NoAnswer", "The answer got lost.")


def raise_as(kind: str) -> None:
    """The error that a knob names."""
    if kind == "temporary":
        raise TemporaryError("NotReachable", "It does not answer.")
    if kind == "port":
        raise TemporaryError("PortInUse", "Something else listens on port 21000.")
    if kind == "permanent":
        raise PermanentError("NameTaken", "Somebody else has this name.", hint="Find out who.")
    raise ZeroDivisionError("a bug of a driver's")


def wanted(spec: ClusterSpec) -> JSONDict:
    """What a thing should hold: pools with machines, and accounts."""
    return {
        "pools": {pool.name: list(pool.machines) for pool in spec.pools},
        "accounts": [[account.name, account.active] for account in spec.accounts],
    }


def read(path: Path) -> JSONDict:
    """A JSON object; empty where there is none."""
    try:
        found: JSONDict = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found


def write(path: Path, content: JSONDict) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(path)


def steps(world: World, names: Sequence[str] = ()) -> tuple[Step, ...]:
    """The five steps, or those of these names."""
    return tuple(
        FakeStep(world, name, tuple(need for need in needs if not names or need in names))
        for name, needs in NAMES
        if not names or name in names
    )


def install(folder: Path, names: Sequence[str] = ()) -> World:
    """Let sites with the fake driver be served from this folder."""
    world = World(folder)

    def factory(wanted: Wanted) -> tuple[Step, ...]:
        return steps(world, names)

    FACTORIES[DRIVER] = factory
    FACTORIES[EVERYWHERE] = lambda wanted: ()  # it would look at what is not there
    told.OWN.add(FakeStep.component)  # what it tells is for tenants too
    return world


def uninstall() -> None:
    """No site is served by the fake driver any more."""
    FACTORIES.pop(DRIVER, None)
    FACTORIES[EVERYWHERE] = _real
    told.OWN.discard(FakeStep.component)
