"""A cluster with more or fewer nodes."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.catalogue import offerings_of, unknown_offerings
from clusters.api.clusters import CLUSTERS
from clusters.api.orders import OrderDetail, PoolIn, order_answer
from clusters.services.order_checks import PoolRequest
from clusters.services.resize_checks import ResizeRequest
from clusters.services.resizing import submit_resize
from portal.lib.errors import BadInput
from tenants.api.keys import once
from tenants.api.views import TenantApi, operation, read_body
from tenants.rights import Action
from tenants.scoping import get_visible


class ResizeIn(serializers.Serializer[Any]):
    """Nodes as they are to be."""

    counts = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=64),
        default=dict,
        help_text="Nodes by pool. A pool that is absent keeps its nodes; 0: it is to go.",
    )
    new = serializers.ListField(child=PoolIn(), default=list, max_length=8, help_text="New pools.")
    justification = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class ResizeApi(TenantApi):
    """/clusters/<id>/resize/"""

    @operation("cluster_resize", tag="clusters", answer=OrderDetail, status=201, body=ResizeIn, keyed=True)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Ask for other numbers of nodes. What only shrinks begins at once; growing waits for an operator."""
        row = get_visible(CLUSTERS.all(), self.actor, pk, Action.ORDER)
        asked = read_body(request, ResizeIn)
        with once(request, self.actor) as key:
            order = submit_resize(actor=self.actor, cluster=row, key=key, request=_request(asked))
        return order_answer(self.actor, order)


def _request(asked: dict[str, Any]) -> ResizeRequest:
    offered = offerings_of(asked["new"])
    if wrong := unknown_offerings(asked["new"], offered, at="new"):
        raise BadInput(fields=wrong)
    return ResizeRequest(
        counts=asked["counts"],
        new=tuple(PoolRequest(one["name"], offered[one["offering"]], one["count"]) for one in asked["new"]),
        justification=asked["justification"],
    )
