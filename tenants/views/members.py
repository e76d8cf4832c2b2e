"""Members of a tenant and its invitations."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.lib.errors import BadInput, NotVisible
from tenants.forms import InviteForm, RoleForm, show
from tenants.live.kinds import MEMBERS, members_context
from tenants.models import Invitation, Membership
from tenants.rights import Action, require
from tenants.scoping import get_visible
from tenants.services import invitations as service
from tenants.services import members as member_service
from tenants.web import TenantRequest, in_tenant

JOBS_THEN = {
    False: gettext_lazy("Running jobs go on; admins can cancel them."),
    True: gettext_lazy("Running jobs are cancelled, because the tenant's settings say so."),
}
LINKS_KEY = "invitation_links"  # links to be shown once, by invitation


@require_safe
@in_tenant
def members(request: TenantRequest) -> HttpResponse:
    """People, and for who may invite also the open invitations; only the list as it opens is live."""
    tenant = request.actor.tenant
    assert tenant is not None  # noqa: S101  # the door has set it
    context = members_context(request.actor, tenant, after=request.GET.get("after", ""))
    context["live_topics"] = [MEMBERS.topic(tenant)] if context["is_first"] else []
    return render(request, "tenants/members.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def invite(request: TenantRequest) -> HttpResponse:
    """Make an invitation; the next page shows its link once."""
    require(request.actor, Action.MANAGE_PEOPLE)
    form = InviteForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            made, token = service.invite(
                actor=request.actor, email=form.cleaned_data["email"], role=form.cleaned_data["role"]
            )
        except BadInput as error:
            show(error, form)
        else:
            request.session[LINKS_KEY] = {str(made.pk): service.link_of(token)}
            return redirect("invitation-link", request.actor.tenant.slug, made.pk)  # type: ignore[union-attr]
    context = {"form": form, "mail_is_sent": settings.MAIL_IS_SENT}
    return render(request, "tenants/invite.html", context, status=400 if form.errors else 200)


@never_cache
@require_safe
@in_tenant
def invitation_link(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """The link, once, for who made it."""
    made = get_visible(Invitation.objects.all(), request.actor, pk, Action.MANAGE_PEOPLE)
    links = request.session.pop(LINKS_KEY, {})
    context = {
        "invitation": made,
        "link": links.get(str(pk)),
        "state": service.state_of(made),
        "mail_is_sent": settings.MAIL_IS_SENT,
    }
    return render(request, "tenants/invitation_link.html", context)


@require_POST
@in_tenant
def revoke(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Take an open invitation back."""
    found = get_visible(Invitation.objects.all(), request.actor, pk, Action.MANAGE_PEOPLE)
    service.revoke_invitation(actor=request.actor, invitation=found)
    messages.success(request, _("The invitation of %(email)s is taken back.") % {"email": found.email})
    return _to_members(request)


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def member(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """One member: another role, or the end of the membership."""
    found = _live(request, pk)
    form = RoleForm(
        request.POST if request.method == "POST" else None, initial={"role": found.get_role_display()}
    )
    if request.method == "POST" and form.is_valid():
        try:
            member_service.change_role(actor=request.actor, membership=found, role=form.cleaned_data["role"])
        except BadInput as error:
            show(error, form)
        else:
            messages.success(
                request,
                _("%(person)s is now %(role)s.") % {"person": found.user, "role": found.get_role_display()},
            )
            return _to_members(request)
    context = {
        "member": found,
        "form": form,
        "is_me": found.user_id == request.actor.user.pk,  # type: ignore[union-attr]
        "jobs_then": JOBS_THEN[request.actor.tenant.cancel_jobs_on_leave],  # type: ignore[union-attr]
    }
    return render(request, "tenants/member.html", context, status=400 if form.errors else 200)


@require_POST
@in_tenant
def remove(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """End a membership."""
    found = _live(request, pk)
    member_service.remove_member(actor=request.actor, membership=found)
    messages.success(request, _("%(person)s is no longer a member.") % {"person": found.user})
    return _to_members(request)


@require_POST
@in_tenant
def suspend(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Keep a member out for now."""
    found = _live(request, pk)
    member_service.suspend_member(actor=request.actor, membership=found)
    messages.success(request, _("%(person)s is suspended.") % {"person": found.user})
    return _to_members(request)


@require_POST
@in_tenant
def resume(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Let a suspended member in again."""
    found = _live(request, pk)
    member_service.resume_member(actor=request.actor, membership=found)
    messages.success(request, _("%(person)s may come in again.") % {"person": found.user})
    return _to_members(request)


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def leave(request: TenantRequest) -> HttpResponse:
    """End one's own membership; a GET asks first, for browsers without the dialog."""
    if request.method != "POST":
        return render(request, "tenants/leave.html")
    member_service.leave(actor=request.actor)
    messages.success(request, _("You have left %(tenant)s.") % {"tenant": request.actor.tenant})
    return redirect("home")


def _live(request: TenantRequest, pk: uuid.UUID) -> Membership:
    found = get_visible(Membership.objects.all(), request.actor, pk, Action.MANAGE_PEOPLE)
    if found.ended_at is not None:
        raise NotVisible
    return found


def _to_members(request: TenantRequest) -> HttpResponse:
    return redirect("members", request.actor.tenant.slug)  # type: ignore[union-attr]
