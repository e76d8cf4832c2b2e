"""Reads BareMetalHosts: whose they are, how far they are, and whether they were wiped.

Nothing of a host's BMC leaves this module: neither its address nor the name of its credentials.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest
from clusters.kube import marks
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError

HOST: Final = Kind("metal3.io/v1alpha1", "BareMetalHost", "baremetalhosts")
CLAIM: Final = Kind("metal3.io/v1alpha1", "HostClaim", "hostclaims")
CONSUMER: Final = "FreeholdCluster"  # kind of our consumerRef: what a look at the host tells a person
NEVER: Final = "never used"

# what Metal3's kinds of error mean to people; its own messages name BMCs
ERRORS: Final = {
    "provisioned registration error": "its management controller is out of reach",
    "registration error": "its management controller is out of reach or refuses the credentials",
    "inspection error": "its hardware could not be looked at",
    "preparation error": "it could not be prepared or cleaned",
    "provisioning error": "the image could not be put on it, or it could not be cleaned",
    "power management error": "it could not be switched on or off",
    "servicing error": "its firmware could not be changed",
}
LASTING: Final = frozenset({"registration error", "provisioned registration error"})
MANY: Final = 5  # errors in a row, after which Metal3's own retries are not expected to help
PLACES = re.compile(
    r"[a-z][a-z0-9+.-]*://\S+|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\b[0-9a-f]{2}([:-][0-9a-f]{2}){5}\b"
    r"|\[?[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,}\]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Host:
    """One host, as far as it matters here."""

    name: str
    uid: str = field(repr=False)
    version: str = field(repr=False)
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    consumer: Mapping[str, str]
    image: Mapping[str, str]  # wanted
    image_there: Mapping[str, str]  # that is on it
    is_online: bool
    state: str
    status: str  # OK, error, ...
    error: str  # kind of error
    errors: int  # in a row
    said: str = field(repr=False)  # Metal3's words, cleaned: for operators only
    provisioned_from: str  # begin of the last provisioning, RFC 3339; "" for none
    cleaned_at: str  # end of the last deprovisioning
    found: Manifest = field(repr=False)

    @property
    def is_free(self) -> bool:
        """Nobody has it, and it can be taken."""
        return self.state == "available" and self.status == "OK" and not self.consumer and not self.image

    @property
    def wiped(self) -> str:
        """When it was wiped after its last use, NEVER if it never was used, "" if it is not seen wiped.

        Both times are Metal3's own, so no clock of ours is compared with them.
        """
        at_rest = self.state == "available" and self.status == "OK" and not self.image
        if not at_rest or self.image_there:
            return ""
        if not self.provisioned_from:
            return self.cleaned_at or NEVER
        return self.cleaned_at if self.cleaned_at > self.provisioned_from else ""

    @property
    def is_failed(self) -> bool:
        """Whether only a person can help."""
        return self.status == "error" and (self.error in LASTING or self.errors >= MANY)

    @property
    def trouble(self) -> str:
        """What is wrong with it, in words for everyone; "" when nothing is."""
        if self.status == "error":
            return f"{self.name}: {ERRORS.get(self.error, 'Metal3 reports an error')}"
        if self.status in {"detached", "servicing", "delayed"}:
            return f"{self.name}: Metal3 has it {self.status}"
        return ""


def read(found: Manifest) -> Host:
    """From the object."""
    meta, spec, status = found["metadata"], found.get("spec") or {}, found.get("status") or {}
    provisioning, history = status.get("provisioning") or {}, status.get("operationHistory") or {}
    return Host(
        name=str(meta["name"]),
        uid=str(meta["uid"]),
        version=str(meta["resourceVersion"]),
        labels=meta.get("labels") or {},
        annotations=meta.get("annotations") or {},
        consumer=spec.get("consumerRef") or {},
        image=spec.get("image") or {},
        image_there=_image(provisioning.get("image") or {}),
        is_online=bool(spec.get("online")),
        state=str(provisioning.get("state") or ""),
        status=str(status.get("operationalStatus") or ""),
        error=str(status.get("errorType") or ""),
        errors=int(status.get("errorCount") or 0),
        said=clean(str(status.get("errorMessage") or ""), spec.get("bmc") or {}),
        provisioned_from=_time(history, "provision", "start"),
        cleaned_at=_time(history, "deprovision", "end"),
        found=found,
    )


def read_all(client: KubeClient, namespace: str) -> dict[str, Host]:
    """All hosts of the namespace by name, in one list. Raises what KubeClient.list raises."""
    return {host.name: host for host in map(read, client.list(HOST, namespace=namespace))}


def is_ours(host: Host, spec: ClusterSpec) -> bool:
    """Whether this cluster holds it. The reference counts too: labels alone are easily lost."""
    return marks.owned(host.found, spec) or (
        host.consumer.get("kind") == CONSUMER and host.consumer.get("name") == spec.name
    )


def clean(text: str, bmc: Mapping[str, Any]) -> str:
    """Metal3's words without addresses, and without the name of the BMC's credentials."""
    for secret in (str(bmc.get("credentialsName") or ""), str(bmc.get("address") or "")):
        text = text.replace(secret, "...") if secret else text
    return " ".join(PLACES.sub("...", text).split())[:300]


def failure(found: Iterable[Host]) -> PermanentError | None:
    """That these do not work; None for none. Metal3's own words are for operators."""
    failed = sorted(found, key=lambda host: host.name)
    if not failed:
        return None
    said = " ".join(f"{host.name}: {host.said}." for host in failed if host.said)
    return PermanentError(
        "MachineFailed",
        f"Machines do not work. {'; '.join(host.trouble for host in failed)}.",
        hint=f"Mend or replace them, then retry.{f' Metal3 says: {said}' if said else ''}",
    )


def pairs(times: Mapping[str, str]) -> str:
    """A fact: gpu-1=2026-11-30T12:00:00Z,gpu-2=... What has no time is left out."""
    return ",".join(f"{name}={at}" for name, at in sorted(times.items()) if at)


def _image(image: Mapping[str, Any]) -> Mapping[str, str]:
    """Metal3 writes an empty image for none."""
    return {str(name): str(value) for name, value in image.items() if value} if image.get("url") else {}


def _time(history: Mapping[str, Any], operation: str, moment: str) -> str:
    """RFC 3339 in UTC without fractions, as Kubernetes writes it: sorts as text."""
    return str((history.get(operation) or {}).get(moment) or "")
