"""One press from the overview: a built-in template, as it is, in one of the tenant's clusters."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from clusters.models import Cluster
from clusters.stacks import require_slurm
from jobs import examples
from jobs.services import submissions
from jobs.services.drafts import Typed
from portal.lib.errors import BadInput
from tenants.rights import Action, require
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant


@require_POST
@in_tenant
def job_quick(request: TenantRequest) -> HttpResponse:
    """Submit it once; what the cluster does not take goes on to the form, with the reason above it."""
    require(request.actor, Action.SUBMIT_JOB)
    cluster = get_visible(
        Cluster.objects.select_related("tenant"),
        request.actor,
        request.POST.get("cluster", ""),
        Action.SUBMIT_JOB,
    )
    require_slurm(cluster)
    chosen = examples.example(request.POST.get("template", ""))
    if chosen is None:
        raise BadInput(_("There is no such template."), hint=_("Choose one on the overview."))
    key = _key(request)
    typed = Typed(fields=dict(chosen.fields), script=chosen.as_it_is)
    tenant = cluster.tenant.slug
    try:
        made = submissions.submit_job(actor=request.actor, cluster=cluster, typed=typed, key=key)
    except BadInput as error:
        problem = " ".join(error.fields.values()) or error.message
        messages.warning(
            request,
            _("%(problem)s Nothing was submitted; change it here and submit again.") % {"problem": problem},
        )
        return redirect(f"{reverse('job-new', args=[tenant, cluster.pk])}?template={chosen.name}")
    if made.job_id is not None:
        return redirect("job", tenant, made.job_id)
    return redirect("submission", tenant, made.pk)


def _key(request: TenantRequest) -> uuid.UUID:
    """The form's one-time key, so that a second press submits nothing."""
    try:
        return uuid.UUID(request.POST.get("key", ""))
    except ValueError:
        raise BadInput(_("This form is incomplete."), hint=_("Open the overview again.")) from None
