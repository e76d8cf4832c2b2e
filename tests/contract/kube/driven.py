"""How a driver's step is brought under the contract: a `Driven` in a module of the package `drivers`."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import AccountSpec, ClusterSpec, FlavorSpec, PoolSpec, StepContext
from tenants.ids import short_name
from tests.kube.server import KubeServer
from tests.kube.vendors import Controller

FLAVOR = FlavorSpec(name="hgx-h100", gpu_type="h100", gpu_count=8, cpus=192, memory_mib=2_000_000)
FIXED = uuid.UUID("0f1e2d3c-4b5a-4678-9abc-def012345678")  # of golden files


def no_vendors(server: KubeServer) -> Iterable[Controller]:
    """For objects that work by being there."""
    del server
    return ()


def nothing_before(server: KubeServer | None, ctx: StepContext) -> StepContext:
    """For a step that needs no other."""
    del server
    return ctx


def one_machine_more(spec: ClusterSpec) -> ClusterSpec:
    """A spec that wants more."""
    pool = spec.pools[0]
    more = dataclasses.replace(pool, machines=(*pool.machines, f"{pool.machines[-1]}x"))
    return dataclasses.replace(spec, pools=(more, *spec.pools[1:]))


@dataclass(frozen=True, slots=True)
class Driven:
    """One step of one site profile.

    `role` is the file in deploy/rbac under whose rights, and no others, the step runs. `before` makes what
    earlier steps and the site would have made (as admin) and gives settings, facts and secrets; it is also
    called for golden files, then with `server` None, and must give fixed values there. `platform` sends the
    step through the vCluster Platform's front door. `fixed` says that the same objects serve any pools,
    `immutable` that Kubernetes lets nobody change them, `looks` how many kinds more are listed once. A
    `variant` is another form of a step whose promises another profile holds: it has its golden file only.
    """

    profile: str
    step: Callable[[Clients], ObjectsStep]
    role: str
    before: Callable[[KubeServer | None, StepContext], StepContext] = nothing_before
    vendors: Callable[[KubeServer], Iterable[Controller]] = no_vendors
    changed: Callable[[ClusterSpec], ClusterSpec] = one_machine_more
    platform: bool = False
    fixed: bool = False
    immutable: bool = False
    looks: int = 0
    variant: bool = False

    @property
    def id(self) -> str:
        """For test ids and golden files."""
        return f"{self.profile}/{self.step.__name__}"


def spec_of(identity: uuid.UUID | None = None) -> ClusterSpec:
    """A cluster of two machines with one member."""
    key = identity or uuid.uuid4()
    pool = PoolSpec("gpu", FLAVOR, (f"m-{key.hex[:4]}-1", f"m-{key.hex[:4]}-2"))
    accounts = (
        AccountSpec("fhobserver1", 70001, 70000, "observer", active=True),
        AccountSpec("fhmember1", 70002, 70000, "member", active=True),
    )
    return ClusterSpec(
        id=str(key),
        name=f"c-{short_name(key)}",
        title="Tïtle & 'quotes'",
        tenant="acme",
        installation="contract",
        pools=(pool,),
        accounts=accounts,
        gid=70000,
        prefix="10.96.16.0/20",
    )


def every_driven() -> list[Driven]:
    """Of all drivers, in a fixed order."""
    package = importlib.import_module("tests.contract.kube.drivers")
    found: list[Driven] = []
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda one: one.name):
        found += importlib.import_module(f"{package.__name__}.{module.name}").DRIVEN
    assert len({one.id for one in found}) == len(found)
    return found
