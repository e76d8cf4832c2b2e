"""Sites and their machines, what may be ordered, orders, and the clusters that come of them."""

from __future__ import annotations

from clusters.models.catalogue import Flavor, Machine, MachineState, Offering, Quota, Site
from clusters.models.cluster import (
    Allocation,
    AllocationStage,
    Cluster,
    Node,
    NodePool,
    Phase,
    PortBlock,
)
from clusters.models.desired import DesiredPools
from clusters.models.fabric import FabricPrefix
from clusters.models.kube import KubeAccount, KubeconfigGrant, KubeRole, KubeSurvey
from clusters.models.order import OPEN_STATES, Order, OrderKind, OrderLine, OrderState, Stack
from clusters.models.progress import StepEvent, StepState, StepStatus
from clusters.models.secrets import ClusterSecret, SiteSecret
from clusters.models.site_facts import SiteFacts, SiteStock
from clusters.models.slurm import IdentityKind, SlurmEndpoint, SlurmIdentity
from clusters.models.utilisation import UtilisationSample
from clusters.models.workloads import WorkloadSnapshot

__all__ = [
    "OPEN_STATES",
    "Allocation",
    "AllocationStage",
    "Cluster",
    "ClusterSecret",
    "DesiredPools",
    "FabricPrefix",
    "Flavor",
    "IdentityKind",
    "KubeAccount",
    "KubeRole",
    "KubeSurvey",
    "KubeconfigGrant",
    "Machine",
    "MachineState",
    "Node",
    "NodePool",
    "Offering",
    "Order",
    "OrderKind",
    "OrderLine",
    "OrderState",
    "Phase",
    "PortBlock",
    "Quota",
    "Site",
    "SiteFacts",
    "SiteSecret",
    "SiteStock",
    "SlurmEndpoint",
    "SlurmIdentity",
    "Stack",
    "StepEvent",
    "StepState",
    "StepStatus",
    "UtilisationSample",
    "WorkloadSnapshot",
]
