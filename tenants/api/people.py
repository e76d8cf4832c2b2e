"""Who I am, the tenant, its members and its invitations."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.actor import Actor
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery, Person
from tenants.api.versions import versioned
from tenants.api.views import ApiView, TenantApi, operation, read_body, read_query
from tenants.live.kinds import MEMBERS
from tenants.models import ApiToken, Invitation, Membership, Role, Tenant
from tenants.rights import Action, may, require
from tenants.scopes import SCOPES
from tenants.scoping import get_visible
from tenants.services import invitations, members
from tenants.services.tokens import token_of

INVITATION_STATES = [(state, state.capitalize()) for state in ("open", "used", "revoked", "ended")]
PEOPLE = Membership.objects.filter(ended_at=None).select_related("user")
INVITATIONS = Invitation.objects.select_related("invited_by", "tenant")


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


class RoleIn(serializers.Serializer[Any]):
    """Another role."""

    role = serializers.ChoiceField(choices=Role.choices)


class InvitationIn(serializers.Serializer[Any]):
    """Whom to invite."""

    email = serializers.CharField(max_length=254)
    role = serializers.ChoiceField(choices=Role.choices)


class InvitationOut(serializers.Serializer[Invitation]):
    """An invitation; its link is told only once, to who made it."""

    id = serializers.UUIDField()
    email = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)
    state = serializers.SerializerMethodField()
    invited_by = Person()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()

    @extend_schema_field(serializers.ChoiceField(choices=INVITATION_STATES))
    def get_state(self, row: Invitation) -> str:
        """As of now."""
        return invitations.state_of(row)


class NewInvitation(InvitationOut):
    """With the link."""

    link = serializers.SerializerMethodField(help_text="Shown only now: send it to the person.")

    @extend_schema_field(serializers.URLField())
    def get_link(self, row: Invitation) -> str:  # noqa: ARG002  # the signature is the framework's
        """For the person's browser."""
        return str(self.context["link"])


class InvitationQuery(PageQuery):
    """Which invitations."""

    all = serializers.BooleanField(default=False, help_text="Also those that are used, revoked or ended.")


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
        found = self._live(pk, Action.VIEW)
        topic = MEMBERS.topic(_tenant(self))
        return versioned(request, self.actor, found, topic, answer=lambda: Member(found).data)

    @operation("member_change_role", tag="people", answer=Member, body=RoleIn)
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Another role. Only an owner names owners, or takes that from one."""
        found = self._live(pk, Action.MANAGE_PEOPLE)
        role = read_body(request, RoleIn)["role"]
        return Response(Member(members.change_role(actor=self.actor, membership=found, role=role)).data)

    @operation("member_remove", tag="people", status=204)
    def delete(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """End a membership: pages, API tokens and Slurm account of that person end here with it."""
        members.remove_member(actor=self.actor, membership=self._live(pk, Action.MANAGE_PEOPLE))
        return Response(status=204)

    def _live(self, pk: uuid.UUID, action: Action) -> Membership:
        return get_visible(PEOPLE.all(), self.actor, pk, action)


class LeaveApi(TenantApi):
    """/members/leave/"""

    @operation("leave", tag="people", status=204)
    def post(self, request: Request) -> Response:  # noqa: ARG002
        """End one's own membership, and with it this token."""
        require(self.actor, Action.LEAVE)
        members.leave(actor=self.actor)
        return Response(status=204)


class InvitationsApi(TenantApi):
    """/invitations/"""

    @operation("invitations_list", tag="people", answer=page_of(InvitationOut), query=InvitationQuery)
    def get(self, request: Request) -> Response:
        """Invitations, the newest first."""
        require(self.actor, Action.MANAGE_PEOPLE)
        query = read_query(request, InvitationQuery)
        rows = INVITATIONS.for_actor(self.actor)
        if not query["all"]:
            rows = rows.filter(invitations.is_open())
        return keyset_page(request, rows, InvitationOut, query, by=("-created_at", "-pk"))

    @operation("invite", tag="people", answer=NewInvitation, status=201, body=InvitationIn)
    def post(self, request: Request) -> Response:
        """Invite by a link that works for seven days, once, and only with that verified address."""
        require(self.actor, Action.MANAGE_PEOPLE)
        asked = read_body(request, InvitationIn)
        made, token = invitations.invite(actor=self.actor, email=asked["email"], role=asked["role"])
        link = settings.PUBLIC_URL + reverse("invitation-open", args=[token])
        return Response(NewInvitation(made, context={"link": link}).data, status=201)


class InvitationApi(TenantApi):
    """/invitations/<id>/"""

    @operation("invitation", tag="people", answer=InvitationOut, versioned=True)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """One invitation, without its link."""
        found = get_visible(INVITATIONS.all(), self.actor, pk, Action.MANAGE_PEOPLE)
        topic = MEMBERS.topic(found.tenant)
        state = invitations.state_of(found)  # ends by itself
        return versioned(
            request, self.actor, found, topic, answer=lambda: InvitationOut(found).data, also=state
        )


class InvitationRevokeApi(TenantApi):
    """/invitations/<id>/revoke/"""

    @operation("invitation_revoke", tag="people", answer=InvitationOut)
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Take an open invitation back."""
        found = get_visible(INVITATIONS.all(), self.actor, pk, Action.MANAGE_PEOPLE)
        invitations.revoke_invitation(actor=self.actor, invitation=found)
        found.refresh_from_db()
        return Response(InvitationOut(found).data)


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
