"""What an apply would do, for the approval page, before anything exists."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.kube import kinds, marks
from clusters.kube.drift import differences
from clusters.kube.objects import Wanted
from clusters.kube.sinks import Batch, Seen
from clusters.kube.text import to_yaml, without_secrets
from clusters.provisioning.steps import Change
from portal.lib.errors import PermanentError


def changes(batch: Batch, seen: Seen, client: KubeClient, *, system: str) -> tuple[Change, ...]:
    """Each object that would be made, changed or removed.

    The server is asked to try it where it can: the kind's API lists dryRun and the namespace is there.
    What it refuses stands as a comment above the text. Raises NameTaken.
    """
    if seen.foreign:
        raise marks.name_taken(seen.foreign[0], system)
    return (
        *_wanted(batch, seen, client, system),
        *(Change("remove", system, str(ref)) for ref in seen.left_over(batch)),
    )


def to_come(batch: Batch, *, system: str) -> tuple[Change, ...]:
    """All of it is made, on an API server that is not there yet."""
    return tuple(
        Change("create", system, str(one.ref), to_yaml(without_secrets(one.manifest, one.hidden)))
        for one in batch.wanted
    )


def _wanted(batch: Batch, seen: Seen, client: KubeClient, system: str) -> Iterator[Change]:
    for one in batch.wanted:
        found = seen.ours.get(one.ref)
        differing = differences(one, found) if found is not None else ()
        if found is None or differing:
            text = _tried(one, client) + to_yaml(without_secrets(one.manifest, one.hidden))
            yield Change("change" if found is not None else "create", system, str(one.ref), text, differing)


def _tried(one: Wanted, client: KubeClient) -> str:
    """A comment with the server's refusal, or nothing."""
    if not _has_parent(one.ref, client) or not client.can_dry_run(one.kind):
        return ""
    try:
        client.apply(one.manifest, one.kind, dry_run=True)
    except PermanentError as error:
        return f"# {error.message}\n"
    return ""


def _has_parent(ref: Ref, client: KubeClient) -> bool:
    try:
        return not ref.namespace or client.get(Ref(kinds.NAMESPACE, ref.namespace)) is not None
    except PermanentError:
        return False  # the portal may not look at namespaces here
