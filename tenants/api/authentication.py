"""`Authorization: Bearer fht_...`, and nothing else.

A session is not taken, not even for reading: no page of another site can then make a browser call the API,
and in the audit trail "api" always means a token with a name.
"""

from __future__ import annotations

from dataclasses import replace

from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from tenants.actor import Actor
from tenants.middleware import address_of
from tenants.models import User
from tenants.services.tokens import actor_of_token

CHALLENGE = 'Bearer realm="Freehold API"'
LONGEST = 200


class TokenAuthentication(BaseAuthentication):
    """The person of an API token; `request.auth` is the actor."""

    def authenticate(self, request: Request) -> tuple[User, Actor] | None:
        """None without the header. Raises AuthenticationFailed for a token that does not work."""
        kind, _, secret = get_authorization_header(request).partition(b" ")
        if not kind:
            return None
        if kind.lower() != b"bearer" or len(secret) > LONGEST:
            raise AuthenticationFailed("Send `Authorization: Bearer` and an API token.")
        actor = actor_of_token(secret.decode("ascii", "replace").strip())
        if actor is None or actor.user is None:
            raise AuthenticationFailed(
                "This API token does not work: it is unknown, ended or revoked, or its membership is."
            )
        request_id = str(getattr(request, "request_id", ""))
        return actor.user, replace(actor, address=address_of(request), request_id=request_id)

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002  # the signature is the framework's
        """For WWW-Authenticate; with it the framework answers 401 and not 403."""
        return CHALLENGE
