"""For people without a tenant: found one, or accept an invitation."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from portal.lib.errors import BadInput, FreeholdError
from tenants.forms import FoundForm, show
from tenants.services.invitations import accept_invitation, find_invitation, hidden, look_at_link
from tenants.services.members import suspended_in
from tenants.services.tenants import found_tenant, suggest_slug
from tenants.web import TenantRequest, signed_in

TOKEN_KEY = "invitation"  # noqa: S105  # the session's key, not a secret


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def welcome(request: TenantRequest) -> HttpResponse:
    """Found a tenant; says what happens next, and whether an invitation waits in this browser."""
    form = FoundForm(_with_slug(request.POST) if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and not _is_proposed(request, form):
        try:
            tenant = found_tenant(
                actor=request.actor,
                name=form.cleaned_data["name"],
                slug=form.cleaned_data["slug"],
                terms_accepted=form.cleaned_data["terms"],
            )
        except BadInput as error:
            show(error, form)
        else:
            messages.success(request, _("%(name)s is founded, and you own it.") % {"name": tenant.name})
            return redirect(f"/t/{tenant.slug}/")
    context = {
        "form": form,
        "invited": TOKEN_KEY in request.session,
        "suspended": suspended_in(request.actor.user) if request.actor.user else [],
        "suggestion": _suggestion(form),
    }
    return render(request, "portal/welcome.html", context, status=400 if form.errors else 200)


def _suggestion(form: FoundForm) -> str:
    """Another short name, where the one that was sent cannot be had."""
    name = form["name"].value() if "slug" in form.errors else ""
    found = suggest_slug(name) if name else ""
    return "" if found == form["slug"].value() else found


def _with_slug(sent: QueryDict) -> QueryDict:
    """What was sent, with a short name that is made of the name where none was given."""
    name = str(sent.get("name", "")).strip()
    if str(sent.get("slug", "")).strip() or not name:
        return sent
    filled = sent.copy()
    filled["slug"] = suggest_slug(name)
    return filled


def _is_proposed(request: TenantRequest, form: FoundForm) -> bool:
    """Whether the short name is ours: it stays for ever, so the person sees it before anything is made."""
    if request.POST.get("slug", "").strip():
        return False
    form.add_error(
        "slug", _("Made of the name. Change it if you like, then send the form: it stays for ever.")
    )
    return True


@never_cache
@require_GET
def open_invitation(request: TenantRequest, token: str) -> HttpResponse:
    """Keep the token of the link in the session, away from addresses and logs. Changes nothing else."""
    request.session[TOKEN_KEY] = token[:100]
    return redirect("invitation" if request.actor.is_signed_in else "invited")


@never_cache
@require_safe
def invited(request: TenantRequest) -> HttpResponse:
    """What the link in this browser is about, for who has not signed in yet."""
    if request.actor.is_signed_in:
        return redirect("invitation")
    try:
        found = look_at_link(token=str(request.session.get(TOKEN_KEY, "")))
    except FreeholdError as error:
        return render(request, "tenants/invitation_refused.html", {"error": error}, status=error.status)
    context = {"tenant": found.tenant, "role": found.role, "address": hidden(found.email)}
    return render(request, "tenants/invited.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def invitation(request: TenantRequest) -> HttpResponse:
    """Who invites into which tenant, and a button; only the button accepts."""
    token = str(request.session.get(TOKEN_KEY, ""))
    try:
        if request.method == "POST":
            membership = accept_invitation(actor=request.actor, token=token)
            request.session.pop(TOKEN_KEY, None)
            messages.success(
                request,
                _("You joined %(tenant)s as %(role)s.")
                % {"tenant": membership.tenant, "role": membership.get_role_display()},
            )
            return redirect(f"/t/{membership.tenant.slug}/")
        found = find_invitation(actor=request.actor, token=token)
    except FreeholdError as error:
        return render(request, "tenants/invitation_refused.html", {"error": error}, status=error.status)
    return render(request, "tenants/invitation.html", {"invitation": found})
