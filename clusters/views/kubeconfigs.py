"""Kubeconfigs on the Access tab: download one, take one back."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from clusters.models import Cluster, KubeconfigGrant
from clusters.services import kubeconfigs
from clusters.views.orders import tenant_of
from tenants.rights import Action
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

CONTENT_TYPE = "application/yaml"


@never_cache
@require_POST
@in_tenant
def kubeconfig_issue(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """A new kubeconfig as a file, and nothing else: what goes wrong is an error page."""
    row = get_visible(
        Cluster.objects.select_related("site", "tenant"), request.actor, pk, Action.USE_KUBERNETES
    )
    asked = request.POST.get("hours", "")
    hours = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else 0
    made = kubeconfigs.issue(actor=request.actor, cluster=row, hours=hours)
    answer = HttpResponse(made.content, content_type=CONTENT_TYPE)
    answer["Content-Disposition"] = f'attachment; filename="{made.filename}"'
    return answer


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def kubeconfig_revoke(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """End one kubeconfig; a GET asks first."""
    grant = get_visible(
        KubeconfigGrant.objects.select_related("cluster__tenant", "account__membership__user"),
        request.actor,
        pk,
        Action.USE_KUBERNETES,
    )
    if request.method != "POST":
        kubeconfigs.require_revocable(actor=request.actor, grant=grant)
        return render(request, "clusters/kubeconfig_revoke.html", {"grant": grant, "cluster": grant.cluster})
    if kubeconfigs.revoke(actor=request.actor, grant=grant):
        messages.success(request, _("The kubeconfig is revoked; its token ends within a minute."))
    else:
        messages.warning(
            request, _("The API server does not answer. The kubeconfig is revoked as soon as it does.")
        )
    return redirect("cluster-access", tenant_of(request).slug, grant.cluster_id)
