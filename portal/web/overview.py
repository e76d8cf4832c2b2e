"""Where a member begins: clusters and money for those who order, own jobs for those who compute."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from clusters import kinds
from jobs import examples, live, mine
from jobs.observer.pace import note_watched
from portal.lib.types import JSONDict
from tenants.live.topics import Topic
from tenants.models import Membership
from tenants.rights import Action, may
from tenants.web import TenantRequest, in_tenant


@never_cache
@require_safe
@in_tenant
def overview(request: TenantRequest) -> HttpResponse:
    """Clusters and orders; own jobs and a job in one press; at the first visit the way to the first job."""
    actor, tenant = request.actor, request.actor.tenant
    assert tenant is not None  # noqa: S101  # in_tenant saw to it
    context: JSONDict = kinds.overview_context(actor, tenant)
    topics = [kinds.OVERVIEW.topic(tenant)]
    note_watched([card["cluster"].pk for card in context["cards"] if card["cluster"].was_ready])
    if may(actor, Action.SUBMIT_JOB) and context["cards"]:
        membership = Membership.objects.for_actor(actor).get(user=actor.user, ended_at=None)
        topics.append(Topic(tenant.pk, live.MY_OVERVIEW, membership.pk))
        context |= mine.my_context(actor) | {
            "membership": membership,
            "examples": examples.EXAMPLES,
            "quick_clusters": mine.usable_clusters(actor),
            "quick_key": uuid.uuid4(),
        }
    return render(request, "portal/overview.html", context | {"live_topics": topics})
