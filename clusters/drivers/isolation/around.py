"""What a cluster is tried against: the servers of other tenants, and where every machine of its site is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clusters.clients.kube.models import Access
from clusters.provisioning.steps import ClusterSpec


@dataclass(frozen=True, slots=True)
class SlurmDoor:
    """A slurmrestd, and an account of ours that it knows."""

    url: str
    api_version: str
    account: str
    key: bytes = field(repr=False)
    authorities: bytes = field(default=b"", repr=False)  # PEM; empty: the system's


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A cluster of another tenant at the same site. Never named to tenants."""

    name: str  # the external name, for operators
    access: Access | None = field(default=None, repr=False)  # the portal's own way to its API server
    slurm: SlurmDoor | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Around:
    """One look at the books of a site."""

    neighbours: tuple[Neighbour, ...] = ()
    # machines that other clusters hold, or that their steps last saw there: name, and the cluster's name
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    inventory: frozenset[str] = frozenset()  # names of all machines of the site


LookAround = Callable[[ClusterSpec], Around]
