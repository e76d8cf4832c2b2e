"""What an owner decides for the tenant."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from tenants.forms import SettingsForm
from tenants.rights import Action, require
from tenants.services.tenants import change_settings
from tenants.web import TenantRequest, in_tenant


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def tenant_settings(request: TenantRequest) -> HttpResponse:
    """The form with what holds now."""
    require(request.actor, Action.CHANGE_SETTINGS)
    tenant = request.actor.tenant
    assert tenant is not None  # noqa: S101  # the door has set it
    now = "cancel" if tenant.cancel_jobs_on_leave else "go-on"
    form = SettingsForm(request.POST if request.method == "POST" else None, initial={"leavers_jobs": now})
    if request.method == "POST" and form.is_valid():
        change_settings(
            actor=request.actor, cancel_jobs_on_leave=form.cleaned_data["leavers_jobs"] == "cancel"
        )
        messages.success(request, _("The settings are saved. They hold for who leaves from now on."))
        return redirect("tenant-settings", tenant.slug)
    return render(request, "tenants/settings.html", {"form": form}, status=400 if form.errors else 200)
