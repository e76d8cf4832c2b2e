"""The tenant's jobs, and the queue of one cluster."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.models import Cluster, Stack
from clusters.stacks import require_slurm
from jobs import examples, listing, live, places, selectors
from jobs.filters import Filter, read_columns, read_filter, usual_columns
from jobs.observer.pace import note_watched
from jobs.observer.sources import SINGLE
from jobs.web import tables
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.live.topics import Topic
from tenants.models import Membership, Tenant
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant


@require_safe
@in_tenant
def jobs(request: TenantRequest) -> HttpResponse:
    """My jobs over all clusters, or everyone's; filters, order and columns stand in the address."""
    wanted = read_filter(request.GET)
    columns = read_columns(request.GET, everyone=wanted.everyone)
    after = request.GET.get("after", "")
    is_live = _is_live(wanted, columns, after)
    membership, tenant = _membership(request.actor), request.actor.tenant
    assert tenant is not None  # noqa: S101  # in_tenant saw to it
    subject: Membership | Tenant = tenant if wanted.everyone else membership
    kind = live.ALL_JOBS if wanted.everyone else live.MY_JOBS
    there = Cluster.objects.for_actor(request.actor).filter(stack=Stack.SLURM)
    clusters = list(there.filter(wanted=True, ready_at__isnull=False))
    note_watched([cluster.pk for cluster in clusters])
    context: JSONDict = {
        **list_context(request.actor, wanted, columns, after=after),
        **tables.form_context(request.actor, wanted, columns),
        "is_live": is_live,
        "subject": subject,
        "kind": kind,
        "live_topics": [Topic(tenant.pk, kind, subject.pk)] if is_live else [],
        "clusters": clusters,
        "examples": examples.EXAMPLES,
        "open_submissions": selectors.open_submissions(request.actor),
    }
    return render(request, "jobs/list.html", context)


def list_context(actor: Actor, wanted: Filter, columns: tuple[str, ...] = (), *, after: str = "") -> JSONDict:
    """What the table needs, on the page and in its live fragment."""
    assert actor.tenant is not None  # noqa: S101  # only within a tenant
    columns = columns or usual_columns(everyone=wanted.everyone)
    return {
        **tables.table_context(listing.list_jobs(actor, wanted, after=after), wanted, columns),
        **tables.select_context(actor),
        "filter": wanted,
        "everyone": wanted.everyone,
        "as_of": selectors.oldest_look(actor.tenant.pk),
        "silent": selectors.silent_clusters(actor),
        "nowhere": places.nowhere(actor),
    }


@require_safe
@in_tenant
def queue(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """What has not ended in one cluster; filters, order and columns stand in the address."""
    cluster = get_visible(Cluster.objects.select_related("site"), request.actor, pk)
    require_slurm(cluster)
    note_watched([cluster.pk])
    wanted = read_filter(request.GET)
    columns = read_columns(request.GET, everyone=True)
    after = request.GET.get("after", "")
    is_live = _is_live(wanted, columns, after)
    context = {
        **queue_context(request.actor, cluster, wanted, columns, after=after),
        **tables.form_context(request.actor, wanted, columns, cluster=cluster),
        "tenant": request.actor.tenant,
        "tab": "queue",
        "is_live": is_live,
        "live_topics": [live.queue(cluster.tenant_id, cluster.pk)] if is_live else [],
    }
    return render(request, "jobs/queue.html", context)


def queue_context(
    actor: Actor,
    cluster: Cluster,
    wanted: Filter | None = None,
    columns: tuple[str, ...] = (),
    *,
    after: str = "",
) -> JSONDict:
    """What the queue needs, on the page and in its live fragment."""
    wanted = wanted or Filter()
    columns = columns or usual_columns(everyone=True)
    endpoint = selectors.endpoint_of(cluster.pk)
    page = listing.list_queue(actor, cluster, wanted, after=after)
    return {
        **tables.table_context(page, wanted, columns, queue=True),
        **tables.select_context(actor),
        "filter": wanted,
        "cluster": cluster,
        "endpoint": endpoint,
        "too_large": endpoint is not None and endpoint.source == SINGLE,
        "everyone": True,
        "figures": selectors.queue_figures(cluster, endpoint),
    }


def _is_live(wanted: Filter, columns: tuple[str, ...], after: str) -> bool:
    """Only the list as it opens is one for all its viewers; others ask again by themselves."""
    return (
        wanted.is_default
        and not after
        and columns in {usual_columns(everyone=some) for some in (True, False)}
    )


def _membership(actor: Actor) -> Membership:
    return Membership.objects.for_actor(actor).get(user=actor.user, ended_at=None)
