"""No controller at all: a driver's own objects, in the order in which an API server takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from clusters.kube import kinds
from clusters.kube.objects import Wanted

# what others refer to comes first; anything else keeps the order in which it is given
FIRST: Final = (
    kinds.NAMESPACE,
    kinds.CRD,
    kinds.RUNTIME_CLASS,
    kinds.SERVICE_ACCOUNT,
    kinds.CLUSTER_ROLE,
    kinds.ROLE,
    kinds.CLUSTER_ROLE_BINDING,
    kinds.ROLE_BINDING,
    kinds.SECRET,
    kinds.CONFIG_MAP,
    kinds.CLAIM,
)


def in_order(wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """The objects in the order of making."""
    return tuple(sorted(wanted, key=lambda one: FIRST.index(one.kind) if one.kind in FIRST else len(FIRST)))
