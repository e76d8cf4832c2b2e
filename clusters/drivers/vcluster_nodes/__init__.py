"""Lets the vCluster Platform pick machines: NodeTypes are the stock, NodeClaims are what a cluster holds."""

from __future__ import annotations

from typing import cast

from clusters.drivers.vcluster_nodes.auto import AutoNodesStep
from clusters.drivers.vcluster_nodes.claimed import ClaimedNodesStep
from clusters.drivers.vcluster_nodes.settings import NodesSettings
from clusters.drivers.vcluster_nodes.stock import Stock, StockStep, read_stock
from clusters.kube.step import Clients
from clusters.provisioning.steps import Step

__all__ = [
    "AutoNodesStep",
    "ClaimedNodesStep",
    "NodesSettings",
    "Stock",
    "StockStep",
    "read_stock",
    "steps",
]


def steps(settings: NodesSettings, clients: Clients) -> tuple[Step, ...]:
    """`machines`: is there enough; `nodes`: claimed by us, or by the tenant cluster's own auto nodes."""
    kind = ClaimedNodesStep if settings.by_claims else AutoNodesStep
    return (StockStep(settings, clients), cast("Step", kind(settings, clients)))
