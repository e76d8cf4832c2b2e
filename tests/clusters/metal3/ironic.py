"""Plays Metal3's part on a test server: writes the status of hosts and claims as its controllers would."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from clusters.clients.kube.models import Manifest, Ref
from clusters.drivers.metal3.hosts import CLAIM, HOST
from clusters.kube.objects import manifest
from clusters.kube.sinks import deleting
from tests.kube.vendors import Hands

FINALIZER = "metal3.io/hostclaim"
BMC = {"address": "redfish://192.0.2.17/redfish/v1/Systems/1", "credentialsName": "bmc-secret-of-host"}
NO_IMAGE = {"url": ""}


@dataclass
class Metal3:
    """Hosts of one namespace, and the claims of another. Every look brings each a step further."""

    namespace: str
    claims: str = ""
    errors: dict[str, tuple[str, int, str]] = field(default_factory=dict)  # host -> kind, count, message
    held: set[str] = field(default_factory=set)  # hosts that do not get any further
    _minutes: int = 0

    def look(self, hands: Hands) -> None:
        """One round."""
        for found in hands.client.list(HOST, namespace=self.namespace):
            if found["metadata"]["name"] not in self.held:
                self._look_at(hands, found)
        if self.claims:
            for found in hands.client.list(CLAIM, namespace=self.claims):
                self._look_at_claim(hands, found)

    def _now(self) -> str:
        """Metal3 counts in seconds; here each moment is a minute, so that none are the same."""
        self._minutes += 1
        start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        return (start + dt.timedelta(minutes=self._minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _look_at(self, hands: Hands, found: Manifest) -> None:
        name, spec = found["metadata"]["name"], found["spec"]
        status = found.get("status") or {}
        state = (status.get("provisioning") or {}).get("state", "")
        there = (status.get("provisioning") or {}).get("image") or NO_IMAGE
        wanted = spec.get("image") or NO_IMAGE
        change: dict[str, Any] = {}
        if name in self.errors:
            kind, count, message = self.errors[name]
            change = {"operationalStatus": "error", "errorType": kind}
            change |= {"errorCount": count, "errorMessage": message}
        elif status.get("operationalStatus") != "OK":
            change = {"operationalStatus": "OK", "errorType": None, "errorCount": 0, "errorMessage": ""}
        if name not in self.errors:
            change |= self._next(state, there, wanted)
        if change:
            both = {"poweredOn": bool(spec.get("online")), "errorCount": 0, "errorMessage": ""} | change
            if not state and "provisioning" not in both:
                both["provisioning"] = {"state": "registering", "ID": ""}
            hands.patch(Ref(HOST, name, self.namespace), {"status": both}, "status")

    def _next(self, state: str, there: Manifest, wanted: Manifest) -> dict[str, Any]:
        match state:
            case "" | "registering":
                return _at("available")
            case "available" if wanted["url"]:
                return _at("provisioning") | _moment("provision", self._now(), None)
            case "provisioning" if not wanted["url"]:
                return _at("deprovisioning") | _moment("deprovision", self._now(), None)
            case "provisioning":
                begun = {"operationHistory": {"provision": {"end": self._now()}}}
                return _at("provisioned", dict(wanted)) | begun
            case "provisioned" if wanted["url"] != there["url"]:
                return _at("deprovisioning", dict(there)) | _moment("deprovision", self._now(), None)
            case "deprovisioning":
                ended = {"operationHistory": {"deprovision": {"end": self._now()}}}
                return _at("available", dict.fromkeys(there, None) | NO_IMAGE) | ended
        return {}

    def _look_at_claim(self, hands: Hands, found: Manifest) -> None:
        meta = found["metadata"]
        ref = Ref(CLAIM, meta["name"], self.claims)
        mine = FINALIZER in (meta.get("finalizers") or ())
        host = self._host_of(hands, found)
        if deleting(found):
            if mine and (host is None or self._given_back(hands, host)):
                left = [one for one in meta["finalizers"] if one != FINALIZER]
                hands.patch(ref, {"metadata": {"finalizers": left}})
            return
        if not mine:
            hands.patch(ref, {"metadata": {"finalizers": [*(meta.get("finalizers") or ()), FINALIZER]}})
        associated = host or self._choose(hands, found)
        if associated is None:
            hands.patch(
                ref,
                {"status": {"conditions": [_condition("Associated", "False", "NoBareMetalHost")]}},
                "status",
            )
            return
        by = {"apiVersion": "metal3.io/v1alpha1", "kind": "HostClaim", "name": meta["name"]}
        given = {name: found["spec"].get(name) for name in ("image", "userData")}
        spec = {**given, "consumerRef": {**by, "namespace": self.claims}, "online": True}
        if any((associated["spec"].get(name) or None) != value for name, value in spec.items()):
            hands.patch(Ref(HOST, associated["metadata"]["name"], self.namespace), {"spec": spec})
        fine = [_condition("Associated", "True", "BareMetalHostAssociated")]
        fine.append(_condition("Synchronized", "True", "ConfigurationSynced"))
        bound = {"name": associated["metadata"]["name"], "namespace": self.namespace}
        if (found.get("status") or {}).get("bareMetalHost") != bound:
            hands.patch(ref, {"status": {"conditions": fine, "bareMetalHost": bound}}, "status")

    def _host_of(self, hands: Hands, claim: Manifest) -> Manifest | None:
        for host in hands.client.list(HOST, namespace=self.namespace):
            by = host["spec"].get("consumerRef") or {}
            if (by.get("kind"), by.get("name")) == ("HostClaim", claim["metadata"]["name"]):
                return host
        return None

    def _choose(self, hands: Hands, claim: Manifest) -> Manifest | None:
        labels = claim["spec"]["hostSelector"]["matchLabels"].items()
        for host in hands.client.list(HOST, namespace=self.namespace):
            state = ((host.get("status") or {}).get("provisioning") or {}).get("state")
            fits = labels <= (host["metadata"].get("labels") or {}).items()
            if fits and state == "available" and not host["spec"].get("consumerRef"):
                return host
        return None

    def _given_back(self, hands: Hands, host: Manifest) -> bool:
        """Deprovision, and let go of the host once it is available; True when nothing is left to do."""
        ref, spec = Ref(HOST, host["metadata"]["name"], self.namespace), host["spec"]
        if spec.get("image") or spec.get("online"):
            hands.patch(ref, {"spec": {"image": None, "userData": None, "online": False}})
            return False
        if host["status"]["provisioning"]["state"] != "available":
            return False
        hands.patch(ref, {"spec": {"consumerRef": None}})
        return True

    # -- what tests put there

    def add_host(self, hands: Hands, name: str, **spec: Any) -> None:
        """A host as an operator enters it."""
        body = {"online": False, "bmc": BMC, "bootMACAddress": "0c:42:a1:00:17:01", **spec}
        labels = {"freehold.io/machine": name}
        made = manifest(HOST, name, {"spec": body}, namespace=self.namespace, labels=labels)
        assert hands.create(HOST, made)


def _at(state: str, image: Any = None) -> dict[str, Any]:
    put: dict[str, Any] = {"state": state, "ID": "4711"}
    return {"provisioning": put if image is None else {**put, "image": image}}


def _moment(operation: str, start: str | None, end: str | None) -> dict[str, Any]:
    return {"operationHistory": {operation: {"start": start, "end": end}}}


def _condition(kind: str, value: str, reason: str) -> dict[str, Any]:
    told = {"type": kind, "status": value, "reason": reason, "message": "as Metal3 says"}
    return {**told, "lastTransitionTime": "2026-01-01T00:00:00Z"}
