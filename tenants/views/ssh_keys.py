"""A person's own SSH public keys within a tenant."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from portal.lib.errors import BadInput
from tenants.forms import SshKeysForm, show
from tenants.rights import Action, require
from tenants.services import ssh_keys as service
from tenants.web import TenantRequest, in_tenant


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def ssh_keys(request: TenantRequest) -> HttpResponse:
    """All of them in one field, one a line."""
    require(request.actor, Action.SUBMIT_JOB)
    known = list(service.keys_of(request.actor))
    text = "\n".join(f"{key.line} {key.comment}".strip() for key in known)
    form = SshKeysForm(request.POST if request.method == "POST" else None, initial={"keys": text})
    if request.method == "POST" and form.is_valid():
        try:
            service.set_keys(actor=request.actor, text=form.cleaned_data["keys"])
        except BadInput as error:
            show(error, form)
        else:
            messages.success(request, _("Your SSH keys are saved. Clusters follow within a few minutes."))
            assert request.actor.tenant is not None  # noqa: S101  # the door has set it
            return redirect("ssh-keys", request.actor.tenant.slug)
    context = {"form": form, "keys": known}
    return render(request, "tenants/ssh_keys.html", context, status=400 if form.errors else 200)
