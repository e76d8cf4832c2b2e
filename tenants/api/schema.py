"""How the schema describes the API token."""

from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from portal.lib.types import JSONDict
from tenants.api.authentication import TokenAuthentication


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """TokenAuthentication as a security scheme."""

    target_class = TokenAuthentication
    name = "ApiToken"

    def get_security_definition(self, auto_schema: AutoSchema) -> JSONDict:  # noqa: ARG002
        """An HTTP bearer scheme."""
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "fht_...",
            "description": "An API token, made in the portal under “API tokens” in the menu of the person.",
        }
