"""Who I am, the tenant with its settings, and its members."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.actor import Actor
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery, Person
from tenants.api.versions import versioned
from tenants.api.views import ApiView, TenantApi, operation, read_body, read_query
from tenants.live.kinds import MEMBERS
from tenants.models import ApiToken, Membership, Role, Tenant
from tenants.rights import Action, may, require
from tenants.scopes import SCOPES
from tenants.scoping import get_visible
from tenants.services import members
from tenants.services.tenants import change_settings
from tenants.services.tokens import token_of

PEOPLE = Membership.objects.filter(ended_at=None).select_related("user")


class TokenFacts(serializers.Serializer[ApiToken]):
    """The token with which this was asked."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=list(SCOPES)))
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class Me(serializers.Serializer[Any]):
    """The person of the token."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    email = serializers.CharField(help_text="As the identity provider tells it; may be empty.")
    token = TokenFacts()


class TenantOut(serializers.Serializer[Any]):
    """A tenant, and what this token may do there."""

    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)
    may = serializers.ListField(
        child=serializers.CharField(), help_text="Names of what role and token allow."
    )
    created_at = serializers.DateTimeField()


class Member(serializers.Serializer[Membership]):
    """A live membership."""

    id = serializers.UUIDField(help_text="Of the membership.")
    person = Person(source="user")
    email = serializers.CharField(source="user.email")
    role = serializers.ChoiceField(choices=Role.choices)
    created_at = serializers.DateTimeField()
    suspended_at = serializers.DateTimeField(allow_null=True, help_text="Since when kept out; null: is not.")


class RoleIn(serializers.Serializer[Any]):
    """Another role."""

    role = serializers.ChoiceField(choices=Role.choices)


class SettingsOut(serializers.Serializer[Tenant]):
    """What an owner decides for the tenant."""

    cancel_jobs_on_leave = serializers.BooleanField(
        help_text="Cancel the jobs of who leaves, is removed or suspended from now on; else they go on."
    )


class MeApi(ApiView):
    """/me/"""

    @operation("me", tag="people", answer=Me)
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """The person of the token, and the token."""
        person = self.actor.user
        assert person is not None  # noqa: S101  # authentication saw one
        facts = {"id": person.pk, "name": str(person), "email": person.email, "token": token_of(self.actor)}
        return Response(Me(facts).data)


class MyTenantsApi(ApiView):
    """/me/tenants/"""

    @operation("my_tenants", tag="people", answer=page_of(TenantOut), query=PageQuery)
    def get(self, request: Request) -> Response:
        """The tenants that this token opens: the one in which it was made."""
        read_query(request, PageQuery)
        actor = self.actor.within(token_of(self.actor).tenant.slug)
        return Response({"items": [tenant_facts(actor)], "next": None})


class TenantView(TenantApi):
    """/t/<tenant>/"""

    @operation("tenant", tag="people", answer=TenantOut, versioned=True)
    def get(self, request: Request) -> Response:
        """The tenant, one's role there, and what role and token allow."""
        tenant = self.actor.tenant
        assert tenant is not None  # noqa: S101  # the door has set it
        return versioned(request, self.actor, tenant, answer=lambda: tenant_facts(self.actor))


class MembersApi(TenantApi):
    """/members/"""

    @operation("members_list", tag="people", answer=page_of(Member), query=PageQuery)
    def get(self, request: Request) -> Response:
        """Live members, the newest last."""
        require(self.actor, Action.VIEW)
        rows = PEOPLE.for_actor(self.actor)
        return keyset_page(request, rows, Member, read_query(request, PageQuery), by=("created_at", "pk"))


class MemberApi(TenantApi):
    """/members/<id>/"""

    @operation("member", tag="people", answer=Member, versioned=True)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """One member."""
        found = live_member(self.actor, pk, Action.VIEW)
        topic = MEMBERS.topic(_tenant(self))
        return versioned(request, self.actor, found, topic, answer=lambda: Member(found).data)

    @operation("member_change_role", tag="people", answer=Member, body=RoleIn)
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Another role. Only an owner names owners, or takes that from one."""
        found = live_member(self.actor, pk, Action.MANAGE_PEOPLE)
        role = read_body(request, RoleIn)["role"]
        return Response(Member(members.change_role(actor=self.actor, membership=found, role=role)).data)

    @operation("member_remove", tag="people", status=204)
    def delete(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """End a membership: pages, API tokens and Slurm account of that person end here with it."""
        found = live_member(self.actor, pk, Action.MANAGE_PEOPLE)
        members.remove_member(actor=self.actor, membership=found)
        return Response(status=204)


class SuspendApi(TenantApi):
    """/members/<id>/suspend/"""

    @operation("member_suspend", tag="people", answer=Member)
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Keep a member out until the membership is resumed; role and accounts stay theirs."""
        found = live_member(self.actor, pk, Action.MANAGE_PEOPLE)
        members.suspend_member(actor=self.actor, membership=found)
        return Response(Member(found).data)


class ResumeApi(TenantApi):
    """/members/<id>/resume/"""

    @operation("member_resume", tag="people", answer=Member)
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Let a suspended member in again, with the role of before."""
        found = live_member(self.actor, pk, Action.MANAGE_PEOPLE)
        members.resume_member(actor=self.actor, membership=found)
        return Response(Member(found).data)


class SettingsApi(TenantApi):
    """/settings/"""

    @operation("settings", tag="people", answer=SettingsOut)
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """The tenant's settings."""
        require(self.actor, Action.CHANGE_SETTINGS)
        return Response(SettingsOut(_tenant(self)).data)

    @operation("settings_change", tag="people", answer=SettingsOut, body=SettingsOut)
    def patch(self, request: Request) -> Response:
        """Other settings."""
        require(self.actor, Action.CHANGE_SETTINGS)
        cancel = read_body(request, SettingsOut)["cancel_jobs_on_leave"]
        return Response(SettingsOut(change_settings(actor=self.actor, cancel_jobs_on_leave=cancel)).data)


class LeaveApi(TenantApi):
    """/members/leave/"""

    @operation("leave", tag="people", status=204)
    def post(self, request: Request) -> Response:  # noqa: ARG002
        """End one's own membership, and with it this token."""
        require(self.actor, Action.LEAVE)
        members.leave(actor=self.actor)
        return Response(status=204)


def live_member(actor: Actor, pk: uuid.UUID, action: Action) -> Membership:
    """Not ended; a suspended one is still a member."""
    return get_visible(PEOPLE.all(), actor, pk, action)


def tenant_facts(actor: Actor) -> Mapping[str, Any]:
    """The tenant of the actor's address with what the actor may do there."""
    allowed = [action.name.lower() for action in Action if may(actor, action)]
    return TenantOut(
        {
            **{name: getattr(actor.tenant, name) for name in ("id", "slug", "name", "created_at")},
            "role": actor.role,
            "may": allowed,
        }
    ).data


def _tenant(view: TenantApi) -> Tenant:
    assert view.actor.tenant is not None  # noqa: S101  # the door has set it
    return view.actor.tenant
