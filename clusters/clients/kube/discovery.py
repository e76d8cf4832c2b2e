"""What a server says that it can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from clusters.clients.kube.models import Kind, Manifest

Read = Callable[[str], Manifest | None]  # None: the path is not there


def serves(read: Read, kind: Kind) -> bool:
    """Whether the kind is among what the server lists. False is a positive "no": it listed its groups."""
    if kind.group:
        groups = read("/apis")
        if groups is None or groups.get("kind") != "APIGroupList":
            return True  # no answer to rely on
        versions = {
            version.get("groupVersion")
            for group in groups.get("groups") or ()
            for version in group.get("versions") or ()
        }
        if kind.api_version not in versions:
            return False
    listed = read(kind.root)
    return listed is None or any(
        resource.get("name") == kind.plural for resource in listed.get("resources") or ()
    )


def lists_dry_run(read: Read, kind: Kind) -> bool:
    """Whether the OpenAPI document of the kind's version lists `dryRun` for PATCH."""
    index = read("/openapi/v3")
    entry = ((index or {}).get("paths") or {}).get(kind.root.lstrip("/"))
    url = str((entry or {}).get("serverRelativeURL", ""))
    if not url.startswith("/openapi/v3/"):  # nowhere else, whatever the server says
        return False
    document = read(url)
    inner = "/namespaces/{namespace}" if kind.namespaced else ""
    path = ((document or {}).get("paths") or {}).get(f"{kind.root}{inner}/{kind.plural}/{{name}}") or {}
    return any(parameter.get("name") == "dryRun" for parameter in _parameters(path))


def _parameters(path: Manifest) -> Iterator[dict[str, Any]]:
    yield from path.get("parameters") or ()
    yield from (path.get("patch") or {}).get("parameters") or ()
