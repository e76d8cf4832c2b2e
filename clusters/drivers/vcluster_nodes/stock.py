"""What the Platform can still give, and the machines step of sites where it picks machines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from clusters.clients.kube.client import KubeClient
from clusters.drivers.vcluster_nodes import claims
from clusters.drivers.vcluster_nodes.claims import NODE_TYPE
from clusters.drivers.vcluster_nodes.settings import NodesSettings
from clusters.kube.step import Clients
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext
from portal.lib.errors import PermanentError


@dataclass(frozen=True, slots=True)
class Stock:
    """Of one NodeType."""

    total: int
    claimed: int

    @property
    def free(self) -> int:
        """What can still be claimed."""
        return max(self.total - self.claimed, 0)


def read_stock(client: KubeClient) -> dict[str, Stock]:
    """Every NodeType that is available, by name; one list. An order reserves against this."""
    found = {}
    for one in client.list(NODE_TYPE):
        status = one.get("status") or {}
        capacity = status.get("capacity")
        if status.get("phase", "Available") in {"Available", ""} and isinstance(capacity, Mapping):
            found[str(one["metadata"]["name"])] = Stock(
                int(capacity.get("total") or 0), int(capacity.get("claimed") or 0)
            )
    return found


class StockStep:
    """Nothing is made: it is ready while there is enough, and gone when the last claim is.

    A step is told its own facts only when the cluster is to go; so it knows which of the two is asked.
    """

    name = "machines"
    component = "vCluster Platform"
    needs: tuple[str, ...] = ()
    deadline = dt.timedelta(hours=2)

    def __init__(self, settings: NodesSettings, clients: Clients) -> None:
        self._settings = settings
        self._clients = clients

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per kind of node, for the plan on the approval page."""
        return tuple(
            f"{count} of node type {name}, machines picked by the Platform"
            for name, count in sorted(self._settings.wanted(spec).items())
        )

    def observe(self, ctx: StepContext) -> Observed:
        """Compare what is wanted and not yet held with what is free."""
        client = self._clients(ctx)
        held = claims.held(client, ctx.spec, self._settings.namespace(ctx.spec))
        if self.name in ctx.facts:
            names = ", ".join(sorted(one["metadata"]["name"] for one in held))
            message = f"The Platform still takes back {names}." if held else ""
            return Observed(bool(held), reason="NodesLeaving" if held else "", message=message)
        missing = dict(self._settings.wanted(ctx.spec))
        for one in held:
            kind = one["spec"].get("typeRef", "")
            missing[kind] = missing.get(kind, 0) - 1
        free = read_stock(client)
        unknown = sorted(name for name, count in missing.items() if count > 0 and name not in free)
        if unknown:
            error = _unknown(unknown)
            return Observed(True, reason=error.reason, message=error.message)
        short = {name: count for name, count in missing.items() if count > 0 and free[name].free < count}
        facts = {"free": ",".join(f"{name}={free[name].free}" for name in sorted(missing) if name in free)}
        if short:
            words = "; ".join(f"{free[name].free} of {name}, {count} needed" for name, count in short.items())
            message = f"The Platform has too few machines free: {words}."
            return Observed(True, True, reason="NoCapacity", message=message, facts=facts)
        return Observed(exists=True, in_sync=True, ready=True, facts=facts)

    def apply(self, ctx: StepContext) -> None:
        """There is nothing to ask for; what nobody can give is said."""
        free = read_stock(self._clients(ctx))
        if unknown := sorted(self._settings.wanted(ctx.spec).keys() - free.keys()):
            raise _unknown(unknown)

    def remove(self, ctx: StepContext) -> None:
        """Claims go with the nodes step or the control plane; they are only waited for."""


def _unknown(names: list[str]) -> PermanentError:
    return PermanentError(
        "NodeTypeUnknown",
        f"The Platform has no node type {', '.join(names)} to give.",
        hint="See the node provider, or correct vcluster_nodes.node_types in the site's settings.",
    )
