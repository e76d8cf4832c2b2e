"""A member's own SSH public keys."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.api.views import TenantApi, operation, read_body
from tenants.models import SshKey
from tenants.rights import Action, require
from tenants.services import ssh_keys


class SshKeyOut(serializers.Serializer[SshKey]):
    """One public key."""

    kind = serializers.CharField(help_text="E.g. ssh-ed25519.")
    fingerprint = serializers.CharField(help_text="As ssh-keygen -l prints it.")
    comment = serializers.CharField()
    created_at = serializers.DateTimeField()


class SshKeysOut(serializers.Serializer[Any]):
    """All of a member's."""

    keys = SshKeyOut(many=True)


class SshKeysIn(serializers.Serializer[Any]):
    """All keys that are to hold from now on."""

    keys = serializers.CharField(
        allow_blank=True,
        max_length=25_000,
        trim_whitespace=False,
        help_text="One public key a line; empty: none.",
    )


class SshKeysApi(TenantApi):
    """/ssh-keys/"""

    @operation("ssh_keys", tag="people", answer=SshKeysOut)
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """The own public keys in this tenant."""
        require(self.actor, Action.SUBMIT_JOB)
        return Response(SshKeysOut({"keys": ssh_keys.keys_of(self.actor)}).data)

    @operation("ssh_keys_set", tag="people", answer=SshKeysOut, body=SshKeysIn)
    def patch(self, request: Request) -> Response:
        """Keep exactly these; clusters with login nodes follow within a few minutes."""
        require(self.actor, Action.SUBMIT_JOB)
        made = ssh_keys.set_keys(actor=self.actor, text=read_body(request, SshKeysIn)["keys"])
        return Response(SshKeysOut({"keys": made}).data)
