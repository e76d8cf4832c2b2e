"""Leaves objects as files of a Git repository that a GitOps controller follows.

One file per object below FOLDER/CLUSTER/STEP/, one commit per change. A file is ours by its first lines; one
without them, or of another cluster, is never written or removed. Secrets are never committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from clusters.clients.kube.client import MANAGER
from clusters.clients.kube.models import Kind, Manifest, Ref, ref_of
from clusters.kube import kinds, marks
from clusters.kube.git import Branch, PushLost
from clusters.kube.objects import Wanted
from clusters.kube.sinks import Batch, Seen
from clusters.kube.text import to_yaml
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError

TRIES = 5


class GitCommit:
    """A Sink. What is committed is what is there; whether a controller took it, live objects tell."""

    live = False

    def __init__(self, branch: Branch, folder: str) -> None:
        self._branch = branch
        self._folder = folder.strip("/")

    def read(self, batch: Batch) -> Seen:
        """See Sink."""
        return self._seen(batch, self._files(batch, self._branch.head()))

    def apply(self, batch: Batch) -> None:
        """See Sink."""
        self._change(batch, {self._path(batch, one.ref): _text(one, batch.spec) for one in batch.wanted})

    def remove(self, batch: Batch) -> None:
        """See Sink. One commit takes all away; the controller prunes in its own order."""
        kept = {self._path(batch, one.ref): _text(one, batch.spec) for one in batch.wanted if one.kept}
        self._change(batch, kept, removing=True)

    def _change(self, batch: Batch, wanted: Mapping[str, str], *, removing: bool = False) -> None:
        for attempt in range(TRIES):
            head = self._branch.head()
            there = self._files(batch, head)
            seen = self._seen(batch, there)
            if seen.foreign and not removing:
                raise marks.name_taken(seen.foreign[0], "the Git repository")
            changes: dict[str, str | None] = {
                path: text for path, text in wanted.items() if there.get(path) != text
            }
            ours = (path for path, text in there.items() if _is_ours(text, batch.spec))
            changes |= {path: None for path in ours if path not in wanted}
            if not changes:
                return
            try:
                self._branch.commit(head, changes, _message(batch, changes, removing=removing))
            except PushLost:
                if attempt == TRIES - 1:
                    raise
            else:
                return

    def _files(self, batch: Batch, head: str) -> dict[str, str]:
        return self._branch.read(head, self._home(batch))

    def _seen(self, batch: Batch, there: Mapping[str, str]) -> Seen:
        ours: dict[Ref, Manifest] = {}
        places = {self._path(batch, one.ref): one.ref for one in batch.wanted}
        known = {scope.kind for scope in batch.scopes}
        for path, text in there.items():
            if not _is_ours(text, batch.spec):
                continue
            found = _parsed(text, known)
            ref = found[0] if found else places.get(path)
            if ref is not None:
                ours[ref] = found[1] if found else {"metadata": {}}
        foreign = [
            ref for path, ref in places.items() if path in there and not _is_ours(there[path], batch.spec)
        ]
        return Seen(ours, tuple(foreign))

    def _home(self, batch: Batch) -> str:
        return "/".join(part for part in (self._folder, batch.spec.name, batch.step) if part)

    def _path(self, batch: Batch, ref: Ref) -> str:
        where = f"{ref.namespace}." if ref.namespace else ""
        return f"{self._home(batch)}/{ref.kind.kind.lower()}.{where}{ref.name}.yaml"


def _header(spec: ClusterSpec) -> str:
    return (
        f"# {marks.INSTALLATION}: {spec.installation}\n# {marks.CLUSTER}: {spec.id}\n"
        "# Written by Freehold, which undoes changes made here.\n"
    )


def _text(one: Wanted, spec: ClusterSpec) -> str:
    if one.kind == kinds.SECRET or one.secret:
        raise PermanentError(
            "SecretInGit",
            f"{one.ref} holds a secret, which is never committed.",
            hint="Let the site make it outside of Git, or apply it to the API server.",
        )
    return _header(spec) + to_yaml(one.manifest)


def _is_ours(text: str, spec: ClusterSpec) -> bool:
    return text.splitlines()[:2] == _header(spec).splitlines()[:2]


def _parsed(text: str, known: set[Kind]) -> tuple[Ref, Manifest] | None:
    """What the file holds; None where it was spoilt, which is drift like any other."""
    try:
        found: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    for kind in known:
        if isinstance(found, dict) and (found.get("apiVersion"), found.get("kind")) == (
            kind.api_version,
            kind.kind,
        ):
            return ref_of(found, kind), _all_ours(found)
    return None


def _all_ours(found: Manifest) -> Manifest:
    """As if we had set every field of the file, so that one that was added by hand is drift."""
    entry = {"manager": MANAGER, "operation": "Apply", "fieldsV1": _fields_of(found)}
    return {**found, "metadata": {**(found.get("metadata") or {}), "managedFields": [entry]}}


def _fields_of(value: Any) -> dict[str, Any]:
    below = value.items() if isinstance(value, Mapping) else ()
    return {f"f:{name}": _fields_of(inner) for name, inner in below}


def _message(batch: Batch, changes: Mapping[str, str | None], *, removing: bool) -> str:
    verb = "Remove" if removing else "Set"
    lines = [
        f"{verb} {batch.step} of cluster {batch.spec.name}",
        "",
        f"Tenant: {batch.spec.tenant}",
        f"Cluster: {batch.spec.id}",
    ]
    if batch.cause:
        lines.append(f"Cause: {batch.cause}")
    lines += [f"{'Removed' if text is None else 'Written'}: {path}" for path, text in sorted(changes.items())]
    return "\n".join(lines) + "\n"
