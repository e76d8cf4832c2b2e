"""Small controllers that play the vendors' part on a test server: slow, failing or stuck as a test says.

A vendor looks at the objects of its kinds again and again and writes status, children and finalizers,
as the vendor's own controller would: when anything on the server has changed, and at a pace of its own, for
ages. Ages count from when it first saw that spec.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest, Ref, ref_of
from clusters.kube import kinds
from portal.lib.errors import OutsideError
from portal.lib.http import Answer
from tests.kube.watching import Watches

OWNER = "test-vendor/owner"
MERGE = "application/merge-patch+json"
JSON = "application/json"
PACE = 0.1  # seconds between two rounds when nothing changes: what has an age grows older
BREATH = 0.01  # seconds from a change to the round that it leads to: changes seldom come alone
Status = Callable[[Manifest, float], Mapping[str, Any] | None]  # object, age -> status, None: as it is
Make = Callable[[Manifest], Iterable[tuple[Kind, Manifest]]]
Holds = Callable[[Manifest, float], bool]


class Hands:
    """Writes as a vendor or a person would: by other verbs and as another manager than ours."""

    def __init__(self, client: KubeClient) -> None:
        self.client = client
        self._outside = client._outside  # its connections; each of its own would cost a handshake
        self.watches: Watches | None = None

    def all(self, kind: Kind) -> tuple[Manifest, ...]:
        """Every object of a kind: for a controller as its watch tells, which may be a moment late."""
        return self.watches.all(kind) if self.watches else self.client.list(kind)

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

    def apply(self, manifest: Manifest, ref: Ref) -> Manifest | None:
        """Server-side apply as a GitOps controller does it: under a manager of its own, by force.

        What is there then, or None where the server refuses it.
        """
        query = urlencode({"fieldManager": "test-gitops", "force": "true"})
        answer = self._outside.send(
            "PATCH",
            f"{ref.path}?{query}",
            headers={"Content-Type": "application/apply-patch+yaml"},
            body=msgspec.json.encode(manifest),
            reuse=True,
        )
        return msgspec.json.decode(answer.body) if answer.status < 300 else None

    def release(self, ref: Ref) -> None:
        """Delete an object whatever holds it; absent is fine."""
        found = self.client.get(ref)
        if found is not None:
            self.release_found(ref, found)

    def release_found(self, ref: Ref, found: Manifest) -> None:
        """The same of an object that was just read."""
        if not found["metadata"].get("deletionTimestamp"):
            self.client.delete(ref, uid=found["metadata"]["uid"])
        if found["metadata"].get("finalizers"):
            self.patch(ref, {"metadata": {"finalizers": None}})

    def _send(self, method: str, path: str, body: Mapping[str, Any], kind: str) -> Answer:
        query = urlencode({"fieldManager": "test-vendor", "fieldValidation": "Strict"})
        return self._outside.send(
            method,
            f"{path}?{query}",
            headers={"Content-Type": kind},
            body=msgspec.json.encode(body),
            reuse=True,
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
    _childless: set[str] = field(default_factory=set)  # owners that are gone, with all their children

    def look(self, hands: Hands) -> None:
        """One round over all objects."""
        owners = set()
        for found in hands.all(self.kind):
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
            if ref_of(child, kind) in {ref_of(one, kind) for one in hands.all(kind)}:
                continue
            labels = {**(child["metadata"].get("labels") or {}), OWNER: meta["uid"]}
            hands.create(kind, {**child, "metadata": {**child["metadata"], "labels": labels}})
        wanted = self.status(found, age) if self.status else None
        if wanted is not None and not _holds_all(found.get("status") or {}, wanted):
            hands.write_status(ref, wanted, self.subresource)

    def _forget(self, hands: Hands, owners: set[str]) -> None:
        gone = self._known() - owners - self._childless
        if not gone:
            return
        parents = set()
        for kind in CHILDREN:
            for child in hands.client.list(kind):  # the watch may not have told of the last one yet
                owner = (child["metadata"].get("labels") or {}).get(OWNER)
                if owner in gone:
                    parents.add(owner)
                    hands.release_found(ref_of(child, kind), child)
        self._childless |= gone - parents

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
        going = [
            one for one in hands.client.list(kinds.NAMESPACE) if one["metadata"].get("deletionTimestamp")
        ]
        left = self._inside(hands, {str(one["metadata"]["name"]) for one in going})
        for found in going:
            name = str(found["metadata"]["name"])
            if not left[name]:
                hands.put(f"/api/v1/namespaces/{name}/finalize", {**found, "spec": {"finalizers": []}})

    def _inside(self, hands: Hands, spaces: set[str]) -> Counter[str]:
        """How much stands in each of them; all of it is told to go."""
        left: Counter[str] = Counter()
        for kind in self._namespaced(hands) if spaces else ():
            for one in hands.client.list(kind):
                name = one["metadata"]["namespace"]
                if name not in spaces:
                    continue
                left[name] += 1
                if not one["metadata"].get("deletionTimestamp"):
                    hands.client.delete(ref_of(one, kind), uid=one["metadata"]["uid"])
        return left

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


class Controller(Protocol):
    """Something that looks at the server again and again."""

    def look(self, hands: Hands) -> None:
        """One round."""


class Running:
    """Vendors at work in a thread; `with Running(client, [...]):`."""

    def __init__(self, client: KubeClient, vendors: Iterable[Controller]) -> None:
        self.hands = Hands(client)
        self.hands.watches = self._watches = Watches(client)
        self.vendors = list(vendors)
        self._stopped = False
        self._broken: Exception | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        self._watches.changed.set()
        self._thread.join()
        self._watches.stop()
        self.check()

    def check(self) -> None:
        """Raises what broke one of them."""
        if self._broken is not None:
            raise self._broken

    def _work(self) -> None:
        changed = self._watches.changed
        while not self._stopped:
            if changed.wait(PACE):
                time.sleep(BREATH)
            changed.clear()
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
