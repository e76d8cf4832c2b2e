"""Whether Slurm has to hold to limits of the tenant's in a cluster: layers above say so when they begin."""

from __future__ import annotations

from collections.abc import Callable

from clusters.models import Cluster

wanted: list[Callable[[Cluster], bool]] = []


def are_wanted(cluster: Cluster) -> bool:
    """Any of them says so."""
    return any(asks(cluster) for asks in wanted)
