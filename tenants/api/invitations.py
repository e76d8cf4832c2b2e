"""Invitations: made, listed, taken back. Accepting one is for its person, in a browser."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery, Person
from tenants.api.versions import versioned
from tenants.api.views import TenantApi, operation, read_body, read_query
from tenants.live.kinds import MEMBERS
from tenants.models import Invitation, Role
from tenants.rights import Action, require
from tenants.scoping import get_visible
from tenants.services import invitations

INVITATION_STATES = [(state, state.capitalize()) for state in ("open", "used", "revoked", "ended")]
INVITATIONS = Invitation.objects.select_related("invited_by", "tenant")


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
        return Response(NewInvitation(made, context={"link": invitations.link_of(token)}).data, status=201)


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
