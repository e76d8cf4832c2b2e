"""Kubeconfigs by API: list, issue, revoke. The file is in the answer to its request and nowhere else."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import kubeconfigs as shown
from clusters.models import Cluster, KubeconfigGrant, KubeRole
from clusters.services import kubeconfigs
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery
from tenants.api.views import TenantApi, operation, read_body, read_query
from tenants.rights import Action
from tenants.scoping import get_visible

CLUSTERS = Cluster.objects.select_related("site", "tenant")
GRANTS = KubeconfigGrant.objects.select_related(
    "cluster__tenant", "cluster__site", "account__membership__user"
)
STATES = ("works", "outdated", "revoking", "revoked", "ended")


class KubeconfigOut(serializers.Serializer[KubeconfigGrant]):
    """A kubeconfig that was issued; never the file."""

    id = serializers.UUIDField()
    account = serializers.CharField(source="account.name", help_text="ServiceAccount in namespace freehold.")
    person = serializers.CharField(source="account.membership.user")
    role = serializers.ChoiceField(choices=KubeRole.choices, help_text="ClusterRole when it was issued.")
    issued_at = serializers.DateTimeField(source="asked_at")
    expires_at = serializers.DateTimeField(help_text="As the API server said.")
    revoked_at = serializers.DateTimeField(allow_null=True)
    state = serializers.SerializerMethodField()

    @extend_schema_field(serializers.ChoiceField(choices=STATES))
    def get_state(self, row: KubeconfigGrant) -> str:
        """Revoking until the server has ended its token; outdated once that has another address or CA."""
        return shown.state_of(row)


class KubeconfigNew(KubeconfigOut):
    """With the file, this once."""

    kubeconfig = serializers.SerializerMethodField(help_text="The file, YAML.")

    def get_kubeconfig(self, row: KubeconfigGrant) -> str:  # noqa: ARG002  # the signature is the framework's
        """The text."""
        return str(self.context["content"])


class KubeconfigIn(serializers.Serializer[Any]):
    """What to issue."""

    hours = serializers.ChoiceField(choices=kubeconfigs.HOURS, default=8, help_text="Lifetime asked for.")


class KubeconfigsApi(TenantApi):
    """/clusters/<id>/kubeconfigs/"""

    @operation("cluster_kubeconfigs", tag="clusters", answer=page_of(KubeconfigOut), query=PageQuery)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Kubeconfigs of a cluster: your own, and everyone's for who manages people."""
        row = get_visible(CLUSTERS.all(), self.actor, pk)
        rows: QuerySet[KubeconfigGrant] = shown.shown(self.actor, row)
        query = read_query(request, PageQuery)
        return keyset_page(request, rows, KubeconfigOut, query, by=("-asked_at", "-pk"))

    @operation(
        "kubeconfig_issue", tag="clusters", answer=KubeconfigNew, status=201, body=KubeconfigIn, outside=True
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Issue a kubeconfig with your role. Its token ends with the grant, and with the membership."""
        row = get_visible(CLUSTERS.all(), self.actor, pk, Action.USE_KUBERNETES)
        asked = read_body(request, KubeconfigIn)
        made = kubeconfigs.issue(actor=self.actor, cluster=row, hours=int(asked["hours"]))
        answer = KubeconfigNew(made.grant, context={"content": made.content.decode("ascii")})
        return Response(answer.data, status=201)


class KubeconfigRevokeApi(TenantApi):
    """/kubeconfigs/<id>/revoke/"""

    @operation("kubeconfig_revoke", tag="clusters", answer=KubeconfigOut)
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Revoke a kubeconfig; state is revoking while the API server does not answer."""
        grant = get_visible(GRANTS.all(), self.actor, pk, Action.USE_KUBERNETES)
        kubeconfigs.revoke(actor=self.actor, grant=grant)
        grant.refresh_from_db()
        return Response(KubeconfigOut(grant).data)
