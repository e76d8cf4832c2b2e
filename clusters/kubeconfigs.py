"""What the Access tab and the API tell about kubeconfigs of a cluster."""

from __future__ import annotations

from django.db.models import QuerySet, Value
from django.utils.translation import ngettext

from clusters import outside, told
from clusters.kube import tenant
from clusters.models import Cluster, ClusterSecret, KubeconfigGrant, KubeRole, KubeSurvey, StepState
from clusters.services.kubeconfigs import HOURS, ROLES, is_own
from portal.lib import clock
from portal.lib.errors import OutsideError, WrongState
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.models import Role
from tenants.rights import Action, may

STEP = "control-plane"


def shown(actor: Actor, cluster: Cluster) -> QuerySet[KubeconfigGrant]:
    """Those that were handed out: one's own, and everyone's for who manages people; the newest first."""
    rows = (
        KubeconfigGrant.objects.for_actor(actor)
        .filter(cluster=cluster)
        .exclude(expires_at=None)
        .annotate(server_now=Value(server_now(cluster)))
        .select_related("account__membership__user", "cluster__site")
        .order_by("-asked_at", "-pk")
    )
    return rows if may(actor, Action.MANAGE_PEOPLE) else rows.filter(account__membership__user=actor.user)


def server_now(cluster: Cluster) -> str:
    """Where a file leads that is issued now; "" while none can be."""
    try:
        return outside.server_of(outside.access_to(cluster))
    except (OutsideError, WrongState):
        return ""


def state_of(grant: KubeconfigGrant) -> str:
    """works, revoking, revoked, ended, or outdated: the server has another address or CA than the file."""
    if grant.revoked_at is not None:
        return "revoked" if grant.gone_at else "revoking"
    if grant.expires_at is None or grant.expires_at <= clock.now():
        return "ended"
    known: str | None = getattr(grant, "server_now", None)
    present = server_now(grant.cluster) if known is None else known
    return "works" if not present or present == grant.server else "outdated"


def role_of(actor: Actor) -> KubeRole:
    """The role that a kubeconfig of the actor would have."""
    return ROLES[Role(actor.role or Role.VIEWER)]


def lifetime(hours: int) -> str:
    """How long a kubeconfig works: hours up to a day, then days."""
    days, rest = divmod(hours, 24)
    if days and not rest and days > 1:
        return ngettext("%(days)d day", "%(days)d days", days) % {"days": days}
    return ngettext("%(hours)d hour", "%(hours)d hours", hours) % {"hours": hours}


def context(actor: Actor, cluster: Cluster) -> JSONDict:
    """For the Kubernetes part of the Access tab."""
    has_plane = bool(cluster.site.drivers.get("control_plane"))
    rows = list(shown(actor, cluster)[:50])
    role = role_of(actor)
    plane = StepState.objects.for_actor(actor).filter(cluster=cluster, name=STEP).first()
    survey = KubeSurvey.objects.for_actor(actor).filter(cluster=cluster).first()
    return {
        "has_kubernetes": has_plane,
        "plane": plane,
        "plane_why": told.detail_of(plane) if plane is not None else "",
        "has_access": ClusterSecret.objects.for_actor(actor)
        .filter(cluster=cluster, name=tenant.KEPT_AS)
        .exists(),
        "kubeconfigs": [(row, state_of(row), is_own(actor, row)) for row in rows],
        "has_outdated": any(state_of(row) == "outdated" for row in rows),
        "kube_role": role,
        "is_cluster_admin": role == KubeRole.ADMIN,
        "survey": survey if role == KubeRole.ADMIN else None,
        "hours": [(count, lifetime(count)) for count in HOURS],
        "may_use_kubernetes": may(actor, Action.USE_KUBERNETES) and cluster.wanted,
    }
