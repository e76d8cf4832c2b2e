"""The fabric step as a subject of the driver contract."""

from __future__ import annotations

import copy
import dataclasses
import uuid
from collections.abc import Callable

import pytest

from clusters.drivers.netris import FabricStep, NetrisSettings
from clusters.provisioning.steps import ClusterSpec, FlavorSpec, Observed, PoolSpec, Step, StepContext
from portal.lib.errors import PermanentError
from portal.lib.types import JSONDict
from tenants.ids import short_name
from tests.clusters.netris.server import USER, FakeNetris

FLAVOR = FlavorSpec("h100-8", "h100", 8, 192, 2_000_000)
ACLS = (
    {"name": "api", "action": "permit", "protocol": "tcp", "destination": "198.51.100.10/32", "ports": "443"},
    {"name": "tenants", "action": "deny", "destination": "10.0.0.0/8"},
)


def settings_for(netris: FakeNetris, **other: object) -> NetrisSettings:
    """A site's settings for the fake controller."""
    section = {
        "url": netris.url,
        "user": USER,
        "site": "DC1",
        "tenant": "portal",
        "template": "gpu",
        "ca_file": netris.authorities,
        "acls": list(ACLS),
        **other,
    }
    return NetrisSettings.from_site({"netris": section})


def spec_for(*machines: str, prefix: str = "10.96.16.0/20", leaving: tuple[str, ...] = ()) -> ClusterSpec:
    """A cluster of which nothing exists yet."""
    identity = uuid.uuid4()
    return ClusterSpec(
        id=str(identity),
        name=f"c-{short_name(identity)}",
        title="Team A",
        tenant="team-a",
        installation="tests",
        pools=(PoolSpec("train", FLAVOR, machines, leaving),),
        accounts=(),
        gid=0,
        prefix=prefix,
    )


def context(netris: FakeNetris, spec: ClusterSpec, **facts: dict[str, str]) -> StepContext:
    """What the engine would give to the step."""
    secrets = {"site.netris-password": netris.password.encode()}
    return StepContext(spec=spec, secrets=secrets, facts=facts)


def resized(ctx: StepContext, *machines: str, leaving: tuple[str, ...] = ()) -> StepContext:
    """The same cluster with other machines."""
    (pool,) = ctx.spec.pools
    pools = (dataclasses.replace(pool, machines=machines, leaving=leaving),)
    return dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, pools=pools))


def members(netris: FakeNetris, spec: ClusterSpec) -> list[str]:
    """Who is in the server cluster."""
    (found,) = [one for one in netris.controller.clusters if one["name"] == spec.name]
    return sorted(one["name"] for one in found["servers"])


def stalls(step: FabricStep, ctx: StepContext) -> PermanentError:
    """What apply refuses, and observe tells as well."""
    with pytest.raises(PermanentError) as refused:
        step.apply(ctx)
    return refused.value


def order_of_rules(netris: FakeNetris, ctx: StepContext) -> list[str]:
    """Names of the rules as they came, without the cluster's."""
    return [rule["name"].removeprefix(f"{ctx.spec.name}-") for rule in netris.controller.rules]


def believed(step: FabricStep, ctx: StepContext, seen: Observed) -> StepContext:
    """The context of a removal: with the step's own facts."""
    return dataclasses.replace(ctx, facts={"fabric": dict(seen.facts)})


class FabricSubject:
    """A cluster of two machines."""

    def __init__(self, netris: FakeNetris) -> None:
        self.netris = netris
        self.step: Step = FabricStep(settings_for(netris))
        self.fresh()

    @property
    def _controller_cluster(self) -> JSONDict:
        (found,) = [one for one in self.netris.controller.clusters if one["name"] == self.ctx.spec.name]
        return found

    def fresh(self) -> None:
        """Another cluster, on an empty controller."""
        controller = self.netris.controller
        controller.clusters, controller.vnets, controller.rules = [], [], []
        controller.vpcs, controller.ipam = controller.vpcs[:1], controller.ipam[:1]
        self.ctx = context(self.netris, spec_for("gpu-1", "gpu-2"))

    def inventory(self) -> dict[str, object]:
        """Everything that names the cluster or lies in its VPC."""
        held, name = self.netris.controller, self.ctx.spec.name
        found: dict[str, object] = {
            f"cluster {one['name']}": sorted(member["name"] for member in one["servers"])
            for one in held.clusters
            if one["name"] == name
        }
        # members in the keys: the contract compares these
        found |= {f"member {member}": 1 for one in list(found.values()) for member in one}  # type: ignore[attr-defined]
        found |= {
            f"vnet {one['name']}": one["gateways"] for one in held.vnets if one["name"].startswith(name)
        }
        found |= {
            f"vpc {one['name']}": sorted(one["tags"]) for one in held.vpcs if one["name"].startswith(name)
        }
        found |= {f"acl {one['name']}": one["action"] for one in held.rules if one["name"].startswith(name)}
        vpcs = {one["id"] for one in held.vpcs if one["name"].startswith(name)}
        return found | {
            f"ipam {one['prefix']}": 1 for one in held.ipam if (one["vpc"] or {}).get("id") in vpcs
        }

    def damage(self) -> None:
        """Take a machine out and a rule away, by hand."""
        self._controller_cluster["servers"].pop()
        self.netris.controller.rules.pop()

    def changed(self) -> StepContext:
        """One machine more."""
        (pool,) = self.ctx.spec.pools
        more = dataclasses.replace(pool, machines=(*pool.machines, "gpu-3"))
        return dataclasses.replace(self.ctx, spec=dataclasses.replace(self.ctx.spec, pools=(more,)))

    def impostor(self) -> Callable[[], object]:
        """A server cluster of the same name that somebody made by hand."""
        self.netris.controller.add_cluster(
            {
                "name": self.ctx.spec.name,
                "admin": {"id": 7, "name": "portal"},
                "site": {"id": 1, "name": "DC1"},
                "vpc": {"id": 0, "name": "Create New"},
                "srvClusterTemplate": {
                    "id": 3,
                    "name": "gpu",
                    "ipv4Gateways": [{"postfix": "mgmt", "address": "172.16.0.1/24"}],
                },
                "tags": ["theirs"],
                "servers": [],
            }
        )
        theirs = self._controller_cluster
        return lambda: copy.deepcopy({name: value for name, value in theirs.items() if name != "looks"})
