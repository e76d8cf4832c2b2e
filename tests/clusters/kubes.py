"""A cluster with an API server that is played in memory, for tests of pages and services."""

from __future__ import annotations

import contextlib
import datetime as dt
import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

from clusters import outside
from clusters.clients.kube.errors import NotReachable
from clusters.clients.kube.models import Access, Kind, Manifest, Ref, ref_of
from clusters.kube import tenant
from clusters.models import Cluster, KubeconfigGrant, Phase
from clusters.services import kubeconfigs, secrets
from portal.lib import clock
from tenants.models import Tenant, User
from tests.builders import actor_for
from tests.clusters.builders import make_cluster, make_site, owner_of

SERVER = "https://127.0.0.1:29001"
CA = b"-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n"


class MemoryKube:
    """Keeps objects by name, as far as accounts and kubeconfigs need it; down when told."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.namespaces = ["default", "freehold", "kube-system"]
        self.is_down = False
        self.asked: list[Manifest] = []

    def names(self, kind: str) -> list[str]:
        """Names of the objects of a kind."""
        return sorted(one["metadata"]["name"] for one in self.objects.values() if one["kind"] == kind)

    def apply(self, manifest: Manifest, kind: Kind) -> Manifest:
        """Keep it."""
        self._answer()
        ref = ref_of(manifest, kind)
        known = self.objects.get(str(ref))
        uid = known["metadata"]["uid"] if known else uuid.uuid4().hex
        self.objects[str(ref)] = {**manifest, "metadata": {**manifest["metadata"], "uid": uid}}
        return self.objects[str(ref)]

    def get(self, ref: Ref) -> Manifest | None:
        """As kept."""
        self._answer()
        return self.objects.get(str(ref))

    def list(
        self, kind: Kind, *, namespace: str = "", labels: Mapping[str, str] | None = None
    ) -> tuple[Manifest, ...]:
        """Those with these labels."""
        self._answer()
        if kind.kind == "Namespace":
            return tuple(_namespace(name) for name in self.namespaces)
        return tuple(
            one
            for one in list(self.objects.values())
            if one["kind"] == kind.kind
            and (labels or {}).items() <= (one["metadata"].get("labels") or {}).items()
            and namespace in {"", one["metadata"].get("namespace")}
        )

    def post(self, ref: Ref, subresource: str, body: Manifest) -> Manifest:
        """A token that tells for whom it is."""
        self._answer()
        assert subresource == "token"
        assert self.objects[str(ref)]
        self.asked.append(body)
        ends = clock.now() + dt.timedelta(seconds=body["spec"]["expirationSeconds"] - 60)
        return {"status": {"token": f"token.{ref.name}", "expirationTimestamp": f"{ends:%Y-%m-%dT%H:%M:%SZ}"}}

    def delete(self, ref: Ref, *, uid: str) -> None:
        """Forget it."""
        self._answer()
        assert self.objects[str(ref)]["metadata"]["uid"] == uid
        del self.objects[str(ref)]

    def _answer(self) -> None:
        if self.is_down:
            raise NotReachable


def _namespace(name: str) -> dict[str, Any]:
    return {"kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}}


@contextlib.contextmanager
def answering(kube: MemoryKube | None = None) -> Iterator[MemoryKube]:
    """Every cluster's API server is this one inside; the network seam is all that is replaced."""
    played = kube or MemoryKube()

    @contextlib.contextmanager
    def kube_for(access: Access) -> Iterator[MemoryKube]:
        assert access.ca_pem
        yield played

    with mock.patch.object(outside, "kube_for", kube_for):
        yield played


def give_access(cluster: Cluster, server: str = SERVER) -> Cluster:
    """What the control-plane step keeps for the portal; the cluster's site has control planes from now on."""
    site = cluster.site
    site.drivers = {**site.drivers, "control_plane": "local"}
    site.save(update_fields=["drivers"])
    secrets.keep(cluster, tenant.KEPT_AS, tenant.pack(Access(server, CA, token="ours")), None)
    return cluster


def make_kube_cluster(owned_by: Tenant) -> Cluster:
    """A ready cluster with an API server."""
    return give_access(make_cluster(owned_by, make_site("Kube"), name="kube-a", phase=Phase.READY))


def make_grant(cluster: Cluster, by: User | None = None) -> KubeconfigGrant:
    """A kubeconfig of the owner, or of another member."""
    actor = actor_for(by or owner_of(cluster.tenant), cluster.tenant)
    with answering():
        return kubeconfigs.issue(actor=actor, cluster=cluster, hours=8).grant
