"""What callers say to an API server, and how they may reach it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit

from portal.lib.errors import PermanentError

# A Kubernetes object as it is sent. Only drivers and clusters.kube build and read them.
Manifest: TypeAlias = Mapping[str, Any]

PREFIX = re.compile(r"(/[A-Za-z0-9._-]+)*")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object under one version, e.g. Kind("slinky.slurm.net/v1beta1", "NodeSet", "nodesets")."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        """The API group; "" for the core kinds."""
        return self.api_version.rpartition("/")[0]

    @property
    def resource(self) -> str:
        """As Kubernetes writes it in rules and messages: nodesets.slinky.slurm.net."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        """The path of the version, from the server's root."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"

    def path(self, namespace: str = "") -> str:
        """The path of the collection, of one namespace or of all."""
        if namespace and not self.namespaced:
            raise ValueError(f"{self.kind} is in no namespace.")
        inner = f"/namespaces/{_segment(namespace)}" if namespace else ""
        return f"{self.root}{inner}/{self.plural}"


@dataclass(frozen=True, slots=True)
class Ref:
    """One object by name."""

    kind: Kind
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else self.title

    @property
    def title(self) -> str:
        """Kind and name, where the namespace is clear."""
        return f"{self.kind.kind} {self.name}"

    @property
    def path(self) -> str:
        """The object's path from the server's root."""
        if self.kind.namespaced and not self.namespace:
            raise ValueError(f"{self.title} needs a namespace.")
        return f"{self.kind.path(self.namespace)}/{_segment(self.name)}"


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach one API server. Prints without secrets.

    Either a bearer token or a client certificate; both may be absent. `prefix` stands before every path,
    e.g. "/kubernetes/management" for the vCluster Platform.
    """

    server: str
    ca_pem: bytes = field(repr=False)
    token: str = field(default="", repr=False)
    certificate_pem: bytes = field(default=b"", repr=False)
    key_pem: bytes = field(default=b"", repr=False)
    prefix: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.server)
        if parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or parts.query:
            raise PermanentError(
                "BadAddress",
                "The address of an API server is https, a host and a port, and nothing else.",
                hint="Correct the address in the site's settings.",
            )
        if not PREFIX.fullmatch(self.prefix):
            raise PermanentError("BadAddress", "The path before the API is not a plain path.")
        if not self.ca_pem:
            raise PermanentError(
                "CaMissing",
                "An API server is only spoken to with its own CA certificate.",
                hint="Give the CA in the site's settings.",
            )


def _segment(text: str) -> str:
    if not text or text in {".", ".."}:
        raise ValueError("A part of a path is empty.")
    return quote(text, safe=":")


def ref_of(manifest: Manifest, kind: Kind) -> Ref:
    """The name of an object. Raises ValueError where it is of another kind or has none."""
    if (manifest.get("apiVersion"), manifest.get("kind")) != (kind.api_version, kind.kind):
        raise ValueError(f"This is no {kind.kind} of {kind.api_version}.")
    meta = manifest.get("metadata") or {}
    return Ref(kind, str(meta.get("name", "")), str(meta.get("namespace", "")) if kind.namespaced else "")
