"""What accounting tells of a cluster: accounts, a member in them, and QOS with limits."""

from __future__ import annotations

from clusters.clients.slurmrest.past import Association, AssociationLimits
from clusters.clients.slurmrest.rules import Bounds, Qos, Settings, Share
from clusters.models import Cluster
from jobs.rules import saving
from jobs.rules.view import RulesView, rules_of
from jobs.services.capacity import ClusterView
from jobs.services.drafts import DraftRefused, Typed, read_draft
from portal.lib import clock
from tests.jobs.builders import SCRIPT

USER = "fhalice"
HELD = ("associations", "limits", "qos")
EVERY_QOS = (
    Qos(name="normal", priority=0),
    Qos(name="high", priority=100, preempts=("normal",), bounds=Bounds(wall_minutes=60)),
    Qos(
        name="tiny",
        priority=5,
        flags=("DENY_LIMIT",),
        bounds=Bounds(running=1, submitted=2, per_job={"cpu": 3}, per_user={"gres/gpu": 1}),
    ),
    Qos(name="foreign", priority=0),
)


def association(
    cluster: Cluster,
    account: str,
    user: str = "",
    *,
    parent: str = "",
    default: bool = False,
    **facts: object,
) -> Association:
    """One account, or one user in it."""
    limits = AssociationLimits(account=account, cluster=cluster.external_name, user=user)
    found: dict[str, object] = {"qos": ("high", "normal", "tiny"), **facts}
    return Association(limits=limits, parent=parent, is_default=default, **found)  # type: ignore[arg-type]


def told_of(
    cluster: Cluster,
    user: str,
    *,
    bounds: Bounds | None = None,
    own: Bounds | None = None,
    shares: tuple[Share, ...] | None = None,
    enforces: tuple[str, ...] | None = HELD,
    qos: tuple[Qos, ...] = EVERY_QOS,
) -> saving.Told:
    """The member is in `research` (default) and in `vision` below it; `bounds` and `own` are of the first."""
    return saving.Told(
        qos=qos,
        associations=(
            association(cluster, "root"),
            association(cluster, "research", parent="root", bounds=bounds or Bounds()),
            association(cluster, "vision", parent="research"),
            association(cluster, "other", parent="root"),
            association(cluster, "research", user, default=True, bounds=own or Bounds()),
            association(cluster, "vision", user, qos=("high",)),
        ),
        shares=shares,
        settings=Settings(enforces=enforces, max_array_size=5001 if enforces else None),
    )


def make_rules(cluster: Cluster, user: str, **facts: object) -> RulesView:
    """Kept as read a moment ago."""
    told = told_of(cluster, user, **facts)  # type: ignore[arg-type]
    saving.save(cluster, told, seen_at=clock.now())
    found = rules_of(cluster, user)
    assert found is not None
    return found


def typed(**fields: str) -> Typed:
    """A form with these fields and a script."""
    return Typed(fields=fields, script=SCRIPT)


def against(view: ClusterView, rules: RulesView, **fields: str) -> dict[str, str]:
    """Field to message of what stops a request; empty where it may be sent."""
    try:
        read_draft(typed(**fields), view, rules)
    except DraftRefused as refused:
        return refused.fields
    return {}


def warned(view: ClusterView, rules: RulesView, **fields: str) -> str:
    """What is told of a request that may be sent."""
    return " ".join(str(note) for note in read_draft(typed(**fields), view, rules).notes)
