"""Reads a kubeconfig that came from outside: server, CA, and a token or a certificate, and nothing else.

A kubeconfig can name programs to run, files to read and proxies to use. None of that is followed: a file
with such a thing in it is refused, so that nobody wonders why half of it was ignored.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

import yaml

from clusters.clients.kube.models import Access
from portal.lib.errors import PermanentError, TemporaryError

LONGEST = 256 * 1024  # bytes
DEEPEST = 12  # collections in one another
CLUSTER_KEYS = frozenset({"server", "certificate-authority-data"})
USER_KEYS = frozenset({"token", "client-certificate-data", "client-key-data"})
HARMLESS = frozenset({"extensions"})  # annotations of tools


def parse(content: bytes, *, public_server: str = "") -> Access:
    """The access that the current context names.

    `public_server` stands in for a server of localhost, which the vCluster Platform writes before it knows
    better; without it that is a TemporaryError KubeconfigNotReady. Raises PermanentError KubeconfigRefused.
    """
    config = _document(content)
    context = _named(config, "contexts", "context", config.get("current-context"))
    cluster = _named(config, "clusters", "cluster", context.get("cluster"))
    user = _named(config, "users", "user", context.get("user"))
    _only(cluster, CLUSTER_KEYS)
    _only(user, USER_KEYS)
    server, prefix = _server(_text(cluster, "server"), public_server)
    token = _text(user, "token")
    certificate, key = (_pem(user, name) for name in ("client-certificate-data", "client-key-data"))
    if bool(certificate) != bool(key) or not (token or certificate):
        _refuse("it holds neither a token nor a certificate with its key")
    authority = _pem(cluster, "certificate-authority-data")
    if not authority:
        _refuse("it names no CA certificate")
    return Access(server, authority, token=token, certificate_pem=certificate, key_pem=key, prefix=prefix)


def _document(content: bytes) -> Mapping[str, Any]:
    if len(content) > LONGEST:
        _refuse("it is too large")
    try:
        _check_shape(content)
        config = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        _refuse("it is not YAML")
    if not isinstance(config, dict) or (config.get("apiVersion"), config.get("kind")) != ("v1", "Config"):
        _refuse("it is no kubeconfig")
    return config


def _check_shape(content: bytes) -> None:
    """A few lines of aliases make a document of gigabytes, deep nesting one that takes days to read."""
    depth = 0
    for event in yaml.parse(content, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > DEEPEST:
            _refuse("it holds YAML aliases or is nested too deeply")


def _named(config: Mapping[str, Any], names: str, inner: str, wanted: object) -> Mapping[str, Any]:
    rows = config.get(names)
    found = [
        row.get(inner)
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(wanted, str) and row.get("name") == wanted
    ]
    if len(found) != 1 or not isinstance(found[0], dict):
        _refuse(f"its current context names no single entry of {names}")
    content: Mapping[str, Any] = found[0]
    return content


def _only(content: Mapping[str, Any], known: frozenset[str]) -> None:
    beyond = sorted(str(name) for name in content.keys() - known - HARMLESS)
    if beyond:
        _refuse(f"it holds {', '.join(beyond)[:200]}, which Freehold does not use")


def _text(content: Mapping[str, Any], name: str) -> str:
    found = content.get(name, "")
    if not isinstance(found, str) or any(letter.isspace() for letter in found):
        _refuse(f"its {name} is not a plain text")
    return found


def _pem(content: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(_text(content, name), validate=True)
    except binascii.Error:
        _refuse(f"its {name} is not base64")


def _server(found: str, public: str) -> tuple[str, str]:
    parts = urlsplit(found)
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.query or parts.fragment:
        _refuse("its server is not a plain https address")
    if _is_here(parts.hostname):
        if not public:
            raise TemporaryError(
                "KubeconfigNotReady", "The kubeconfig names an address of the server's own machine."
            )
        parts = urlsplit(public)
    return urlunsplit((parts.scheme, parts.netloc, "", "", "")), parts.path.rstrip("/")


def _is_here(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _refuse(why: str) -> NoReturn:
    raise PermanentError(
        "KubeconfigRefused",
        f"The kubeconfig was refused: {why}. Nothing of it was used.",
        hint="See what issues it, and have it issue a plain one.",
    )
