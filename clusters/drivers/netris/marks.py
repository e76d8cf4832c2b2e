"""How what is ours is marked in the controller: tags, and a comment where there are no tags."""

from __future__ import annotations

from clusters.clients.netris.models import Acl
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError

INSTALLATION, CLUSTER = "freehold.io/installation", "freehold.io/cluster"


def tags_of(spec: ClusterSpec) -> frozenset[str]:
    """The tags of a cluster's things."""
    return frozenset({f"{INSTALLATION}={spec.installation}", f"{CLUSTER}={spec.id}"})


def comment_of(spec: ClusterSpec) -> str:
    """The same for things without tags."""
    return " ".join(sorted(tags_of(spec)))


def is_ours(tags: frozenset[str], spec: ClusterSpec) -> bool:
    """Whether we made it for this cluster."""
    return tags_of(spec) <= tags


def is_our_rule(rule: Acl, spec: ClusterSpec) -> bool:
    """Whether we made the rule for this cluster."""
    return tags_of(spec) <= frozenset(rule.comment.split())


def name_taken(kind: str, name: str) -> PermanentError:
    """Something that we did not make has the name."""
    return PermanentError(
        "NameTaken",
        f"There is {kind} {name} in the fabric controller that Freehold did not make. It was left as it is.",
        hint="Rename or remove it by hand, then retry.",
    )
