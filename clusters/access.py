"""The Access tab as page, poll and socket show it: Slurm through the portal, Kubernetes by a kubeconfig."""

from __future__ import annotations

from clusters import kubeconfigs, live
from clusters.models import Cluster, Phase, SlurmEndpoint, SlurmIdentity
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.live.registry import LiveKind, register
from tenants.rights import Action, may


def access_context(actor: Actor, row: Cluster) -> JSONDict:
    """How this person reaches the cluster, or why not; what was handed out."""
    mine = SlurmIdentity.objects.for_actor(actor).filter(
        cluster=row, membership__user=actor.user, active=True
    )
    return {
        "cluster": row,
        "tenant": actor.tenant,
        "slurm": SlurmEndpoint.objects.for_actor(actor).filter(cluster=row).first(),
        "identity": mine.first(),
        "is_usable": row.phase in {Phase.READY, Phase.DEGRADED},
        "may_submit": may(actor, Action.SUBMIT_JOB),
        **kubeconfigs.context(actor, row),
    }


ACCESS = register(
    LiveKind(
        live.ACCESS,
        lambda: Cluster.objects.select_related("site"),
        "clusters/cluster_access.html#live",
        access_context,
        per_user=True,
    )
)
