"""Small controllers that play the vendors' part on a test server: slow, failing or stuck as a test says.

A vendor looks at the objects of its kinds again and again and writes status, children and finalizers,
as the vendor's own controller would. Ages count from when it first saw that spec.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest, Ref, ref_of
from clusters.clients.kube.tls import context_for
from clusters.kube import kinds
from portal.lib.errors import OutsideError
from portal.lib.http import Answer, Outside

OWNER = "test-vendor/owner"
MERGE = "application/merge-patch+json"
JSON = "application/json"
PACE = 0.1
Status = Callable[[Manifest, float], Mapping[str, Any] | None]  # object, age -> status, None: as it is
Make = Callable[[Manifest], Iterable[tuple[Kind, Manifest]]]
Holds = Callable[[Manifest, float], bool]


class Hands:
    """Writes as a vendor or a person would: by other verbs and as another manager than ours."""

    def __init__(self, client: KubeClient) -> None:
        self.client = client
        self._outside = Outside(client.access.server, tls=context_for(client.access), timeout=30)

    def patch(self, ref: Ref, change: Mapping[str, Any], subresource: str = "") -> bool:
        """A merge patch; False if the server refuses it or the object is gone."""
        path = f"{ref.path}/{subresource}" if subresource else ref.path
        return self._send("PATCH", path, change, MERGE).status < 300

    def write_status(self, ref: Ref, status: Mapping[str, Any], subresource: str) -> None:
        """A vendor's status; one that the vendor's own schema refuses is a mistake of the test."""
        path = f"{ref.path}/{subresource}" if subresource else ref.path
        answer = self._send("PATCH", path, {"status": dict(status)}, MERGE)
        assert answer.status not in {400, 422}, answer.body.decode(errors="replace")

    def put(self, path: str, body: Mapping[str, Any]) -> bool:
        """A whole object."""
        return self._send("PUT", path, body, JSON).status < 300

    def create(self, kind: Kind, manifest: Manifest) -> bool:
        """Make an object; False if there is one."""
        return self._send("POST", kind.path(ref_of(manifest, kind).namespace), manifest, JSON).status < 300

    def apply(self, manifest: Manifest, ref: Ref) -> bool:
        """Server-side apply as a GitOps controller does it: under a manager of its own, by force."""
        query = urlencode({"fieldManager": "test-gitops", "force": "true"})
        answer = self._outside.send(
            "PATCH",
            f"{ref.path}?{query}",
            headers={"Content-Type": "application/apply-patch+yaml"},
            body=msgspec.json.encode(manifest),
        )
        return answer.status < 300

    def release(self, ref: Ref) -> None:
        """Delete an object whatever holds it; absent is fine."""
        found = self.client.get(ref)
        if found is not None:
            self.client.delete(ref, uid=found["metadata"]["uid"])
            if found["metadata"].get("finalizers"):
                self.patch(ref, {"metadata": {"finalizers": None}})

    def _send(self, method: str, path: str, body: Mapping[str, Any], kind: str) -> Answer:
        query = urlencode({"fieldManager": "test-vendor", "fieldValidation": "Strict"})
        return self._outside.send(
            method, f"{path}?{query}", headers={"Content-Type": kind}, body=msgspec.json.encode(body)
        )


@dataclass
class Vendor:
    """One controller of one kind.

    `status` is what it writes, `children` what it makes beside (removed with their owner), `finalizer` what
    it puts on an object and takes away at removal unless `holds`. `subresource` is "" for kinds whose status
    is a field like others.
    """

    kind: Kind
    status: Status | None = None
    children: Make | None = None
    finalizer: str = ""
    holds: Holds = lambda _found, _age: False
    subresource: str = "status"
    _seen: dict[tuple[str, str, bool], float] = field(default_factory=dict)

    def look(self, hands: Hands) -> None:
        """One round over all objects."""
        owners = set()
        for found in hands.client.list(self.kind):
            owners.add(found["metadata"]["uid"])
            self._look_at(hands, found)
        if self.children is not None:
            self._forget(hands, owners)

    def _look_at(self, hands: Hands, found: Manifest) -> None:
        meta, ref = found["metadata"], ref_of(found, self.kind)
        age = self._age(found)
        if meta.get("deletionTimestamp"):
            mine = [one for one in meta.get("finalizers") or () if one != self.finalizer]
            if self.finalizer in (meta.get("finalizers") or ()) and not self.holds(found, age):
                hands.patch(ref, {"metadata": {"finalizers": mine}})
            return
        if self.finalizer and self.finalizer not in (meta.get("finalizers") or ()):
            hands.patch(ref, {"metadata": {"finalizers": [*(meta.get("finalizers") or ()), self.finalizer]}})
        for kind, child in self.children(found) if self.children else ():
            labels = {**(child["metadata"].get("labels") or {}), OWNER: meta["uid"]}
            hands.create(kind, {**child, "metadata": {**child["metadata"], "labels": labels}})
        wanted = self.status(found, age) if self.status else None
        if wanted is not None and not _holds_all(found.get("status") or {}, wanted):
            hands.write_status(ref, wanted, self.subresource)

    def _forget(self, hands: Hands, owners: set[str]) -> None:
        for kind in CHILDREN:
            for child in hands.client.list(kind):
                owner = (child["metadata"].get("labels") or {}).get(OWNER)
                if owner and owner in self._known() and owner not in owners:
                    hands.release(ref_of(child, kind))

    def _known(self) -> set[str]:
        return {uid for uid, _, _ in self._seen}

    def _age(self, found: Manifest) -> float:
        meta = found["metadata"]
        spec = msgspec.json.encode(found.get("spec"), order="sorted").decode()
        key = (meta["uid"], spec, bool(meta.get("deletionTimestamp")))
        return time.monotonic() - self._seen.setdefault(key, time.monotonic())


CHILDREN = (kinds.NAMESPACE, kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.SERVICE, kinds.SECRET, kinds.NODE)


class Namespaces:
    """Kubernetes' own namespace controller: empties a namespace that is to go, then lets it go."""

    def __init__(self) -> None:
        self._kinds: list[Kind] = []

    def look(self, hands: Hands) -> None:
        """One round."""
        for found in hands.client.list(kinds.NAMESPACE):
            if not found["metadata"].get("deletionTimestamp"):
                continue
            name = found["metadata"]["name"]
            left = [ref for kind in self._namespaced(hands) for ref in _inside(hands, kind, name)]
            for ref in left:
                inside = hands.client.get(ref)
                if inside is not None and not inside["metadata"].get("deletionTimestamp"):
                    hands.client.delete(ref, uid=inside["metadata"]["uid"])
            if not left:
                hands.put(f"/api/v1/namespaces/{name}/finalize", {**found, "spec": {"finalizers": []}})

    def _namespaced(self, hands: Hands) -> list[Kind]:
        if not self._kinds:
            core = (
                kinds.SECRET,
                kinds.CONFIG_MAP,
                kinds.SERVICE,
                kinds.SERVICE_ACCOUNT,
                kinds.POD,
                kinds.CLAIM,
                kinds.DEPLOYMENT,
                kinds.STATEFUL_SET,
                kinds.DAEMON_SET,
                kinds.ROLE,
                kinds.ROLE_BINDING,
                kinds.NETWORK_POLICY,
            )
            self._kinds = [*core, *_vendors_kinds(hands.client)]
        return self._kinds


def _vendors_kinds(client: KubeClient) -> Iterable[Kind]:
    for crd in client.list(kinds.CRD):
        spec = crd["spec"]
        if spec["scope"] != "Namespaced":
            continue
        version = next(one["name"] for one in spec["versions"] if one["storage"])
        yield Kind(f"{spec['group']}/{version}", spec["names"]["kind"], spec["names"]["plural"])


def _inside(hands: Hands, kind: Kind, namespace: str) -> list[Ref]:
    return [ref_of(found, kind) for found in hands.client.list(kind, namespace=namespace)]


class Controller(Protocol):
    """Something that looks at the server again and again."""

    def look(self, hands: Hands) -> None:
        """One round."""


class Running:
    """Vendors at work in a thread; `with Running(client, [...]):`."""

    def __init__(self, client: KubeClient, vendors: Iterable[Controller]) -> None:
        self.hands = Hands(client)
        self.vendors = list(vendors)
        self._stop = threading.Event()
        self._broken: Exception | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._broken is not None:
            raise self._broken

    def _work(self) -> None:
        while not self._stop.wait(PACE):
            for vendor in self.vendors:
                try:
                    vendor.look(self.hands)
                except OutsideError:
                    continue  # it comes again, as controllers do
                except Exception as error:  # noqa: BLE001  # told by the thread that waits for this one
                    self._broken = error
                    return


def _holds_all(found: Any, wanted: Any) -> bool:
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return all(name in found and _holds_all(found[name], value) for name, value in wanted.items())
    return bool(found == wanted)
