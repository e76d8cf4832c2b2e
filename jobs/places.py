"""Where a person's jobs can go; and where they cannot go anywhere, why, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from clusters.models import Cluster, Order, OrderKind, OrderState, Phase, Stack
from jobs.mine import usable_clusters
from tenants.actor import Actor
from tenants.rights import Action, may

_BUILT = (Phase.PENDING, Phase.PROVISIONING)


@dataclass(frozen=True, slots=True)
class Nowhere:
    """What is so, and the next step with its address; no link where there is nothing to do."""

    title: str
    text: str
    url: str = ""
    link: str = ""


def nowhere(actor: Actor) -> Nowhere | None:
    """Why no job can be submitted now; None where one can."""
    if usable_clusters(actor):
        return None
    rows = Cluster.objects.for_actor(actor).filter(stack=Stack.SLURM).order_by("-created_at")
    cluster = rows.filter(wanted=True).exclude(phase=Phase.DELETED).first()
    if cluster is not None:
        return _of_cluster(actor, cluster)
    orders = Order.objects.for_actor(actor).filter(
        kind=OrderKind.CREATE, state=OrderState.SUBMITTED, stack=Stack.SLURM
    )
    order = orders.order_by("-created_at").first()
    if order is not None:
        return Nowhere(
            _("The cluster is not approved yet"),
            _("%(name)s is ordered. Once an operator has approved it, it is built, and jobs can run.")
            % {"name": order.cluster_name},
            _address(actor, "order", order.pk),
            _("Open the order"),
        )
    return _of_nothing(actor, rows.first())


def _of_cluster(actor: Actor, cluster: Cluster) -> Nowhere:
    name, url = {"name": cluster.name}, _address(actor, "cluster", cluster.pk)
    if cluster.terminate_at is not None:
        text = _("It is to be removed. Jobs that run may end until then.")
        return Nowhere(_("%(name)s takes no new jobs") % name, text, url, _("Open the cluster"))
    if cluster.phase in _BUILT:
        text = _("Jobs can be submitted as soon as it is ready.")
        return Nowhere(_("%(name)s is being built") % name, text, url, _("Look at its steps"))
    text = _("Its page says why, and who sees to it.")
    return Nowhere(_("%(name)s is not ready") % name, text, url, _("Open the cluster"))


def _of_nothing(actor: Actor, last: Cluster | None) -> Nowhere:
    if may(actor, Action.ORDER):
        next_step, url, link = _("Order one to run jobs."), _address(actor, "order-new"), _("Order a cluster")
    else:
        next_step, url, link = _("An owner or admin of your tenant can order one."), "", ""
    if last is None and Cluster.objects.for_actor(actor).filter(deleted_at=None).exists():
        text = _("None of your clusters has Slurm. %(next)s") % {"next": next_step}
        return Nowhere(_("Jobs run in clusters with Slurm"), text, url, link)
    if last is None:
        return Nowhere(_("No cluster yet"), next_step, url, link)
    gone = _("%(name)s was removed. What ran there is still listed.")
    if last.phase != Phase.DELETED:
        gone = _("%(name)s is being removed. What ran there stays listed.")
    return Nowhere(_("No cluster now"), f"{gone % {'name': last.name}} {next_step}", url, link)


def _address(actor: Actor, name: str, *args: object) -> str:
    assert actor.tenant is not None  # noqa: S101  # only within a tenant
    return reverse(name, args=[actor.tenant.slug, *args])
