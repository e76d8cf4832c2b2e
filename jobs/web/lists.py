"""The tenant's jobs, and the queue of one cluster."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from clusters.models import Cluster, Stack
from clusters.stacks import require_slurm
from jobs import examples, live, places, selectors
from jobs.observer.look import LIST
from jobs.observer.pace import note_watched
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.live.topics import Topic
from tenants.models import Membership, Tenant
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

STATES = (
    ("running", _("Running")),
    ("pending", _("Pending")),
    ("completed", _("Completed")),
    ("failed", _("Failed")),
    ("cancelled", _("Cancelled")),
    ("ended", _("Ended")),
)


@require_safe
@in_tenant
def jobs(request: TenantRequest) -> HttpResponse:
    """My jobs over all clusters, or everyone's; filters stand in the address."""
    wanted = selectors.read_filter(request.GET)
    after = request.GET.get("after", "")
    is_live = wanted.is_default and not after
    membership, tenant = _membership(request.actor), request.actor.tenant
    assert tenant is not None  # noqa: S101  # in_tenant saw to it
    subject: Membership | Tenant = tenant if wanted.everyone else membership
    kind = live.ALL_JOBS if wanted.everyone else live.MY_JOBS
    there = Cluster.objects.for_actor(request.actor).filter(stack=Stack.SLURM)
    clusters = list(there.filter(wanted=True, ready_at__isnull=False))
    note_watched([cluster.pk for cluster in clusters])
    context: JSONDict = {
        **list_context(request.actor, wanted, after=after),
        "filter": wanted,
        "is_live": is_live,
        "subject": subject,
        "kind": kind,
        "live_topics": [Topic(tenant.pk, kind, subject.pk)] if is_live else [],
        "clusters": clusters,
        "states": STATES,
        "examples": examples.EXAMPLES,
        "open_submissions": selectors.open_submissions(request.actor),
    }
    return render(request, "jobs/list.html", context)


def list_context(actor: Actor, wanted: selectors.Filter, *, after: str = "") -> JSONDict:
    """What the table needs, on the page and in its live fragment."""
    assert actor.tenant is not None  # noqa: S101  # only within a tenant
    return {
        "page": selectors.list_jobs(actor, wanted, after=after),
        "everyone": wanted.everyone,
        "as_of": selectors.oldest_look(actor.tenant.pk),
        "silent": selectors.silent_clusters(actor),
        "nowhere": places.nowhere(actor),
    }


@require_safe
@in_tenant
def queue(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """What has not ended in one cluster."""
    cluster = get_visible(Cluster.objects.all(), request.actor, pk)
    require_slurm(cluster)
    note_watched([cluster.pk])
    after = request.GET.get("after", "")
    context = queue_context(request.actor, cluster, after=after)
    context["live_topics"] = [] if after else [live.queue(cluster.tenant_id, cluster.pk)]
    context["is_live"] = not after
    return render(request, "jobs/queue.html", context)


def queue_context(actor: Actor, cluster: Cluster, *, after: str = "") -> JSONDict:
    """What the queue needs, on the page and in its live fragment."""
    endpoint = selectors.endpoint_of(cluster.pk)
    return {
        "cluster": cluster,
        "endpoint": endpoint,
        "too_large": endpoint is not None and endpoint.source not in {"", LIST},
        "page": selectors.list_queue(actor, cluster, after=after),
        "everyone": True,
        "figures": selectors.queue_figures(cluster, endpoint),
    }


def _membership(actor: Actor) -> Membership:
    return Membership.objects.for_actor(actor).get(user=actor.user, ended_at=None)
