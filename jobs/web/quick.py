"""One press from the overview: a built-in template, as it is, in one of the tenant's clusters."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from clusters.models import Cluster
from clusters.stacks import require_slurm
from jobs import examples
from jobs.services.capacity import view_of
from jobs.web.forms import JobForm
from jobs.web.submit import send
from portal.lib.errors import BadInput
from tenants.rights import Action, require
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant


@require_POST
@in_tenant
def job_quick(request: TenantRequest) -> HttpResponse:
    """Submit it once; what the cluster does not take is shown in the form of a new job, with the reason."""
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
    view = view_of(cluster)
    text = {**chosen.fields, "script": chosen.as_it_is, "key": request.POST.get("key", "")}
    form = JobForm(view, text)
    if not form.is_valid():
        raise BadInput(_("This form is incomplete."), hint=_("Open the overview again."))
    return send(request, cluster, view, form, form.typed())
