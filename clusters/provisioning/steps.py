"""The narrow seam between the engine and the drivers: what a step is told and what it answers.

Drivers see these frozen values only: no models, no requests, no other driver.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, runtime_checkable

EMPTY: Mapping[str, str] = MappingProxyType({})
NO_FACTS: Mapping[str, Mapping[str, str]] = MappingProxyType({})
# name, value, when it ends: seals a secret for the cluster's next passes
Keeper = Callable[[str, bytes, dt.datetime | None], None]
AccountKind = Literal["member", "observer", "administrator"]


def forget(name: str, value: bytes, ends: dt.datetime | None) -> None:
    """The keeper of a context outside of a pass: nothing is stored."""


@dataclass(frozen=True, slots=True)
class FlavorSpec:
    """A kind of node."""

    name: str
    gpu_type: str  # Slurm's gres type, e.g. "a100"; "" without GPUs
    gpu_count: int
    cpus: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """Nodes of one flavor; in Slurm one partition of the same name."""

    name: str
    flavor: FlavorSpec
    machines: tuple[str, ...]  # names of the allocated machines at the site, sorted
    # Machines that are to go. Nothing new runs on them, and what runs may end: until then a step that runs
    # things on them is not in sync. Steps that only hold them may hold them or not: both are in sync.
    leaving: tuple[str, ...] = ()
    # how many nodes, where the outside picks the machines; 0: `machines` says which
    count: int = 0


@dataclass(frozen=True, slots=True)
class AccountSpec:
    """A unix account in the cluster, made from a SlurmIdentity."""

    name: str  # ^fh[a-z0-9]{4,28}$
    uid: int
    gid: int
    kind: AccountKind
    active: bool  # False: the member left; jobs may end, nothing new is accepted
    keys: tuple[str, ...] = ()  # public keys for shells, as sshd reads them; ours, without comments


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """What one cluster should be."""

    id: str  # UUID
    name: str  # external name: c- and 12 base32 characters
    title: str  # as the tenant typed it; never reaches a vendor unescaped
    tenant: str  # slug
    installation: str  # the mark freehold.io/installation
    pools: tuple[PoolSpec, ...]
    accounts: tuple[AccountSpec, ...]
    gid: int  # group of every account of the cluster
    prefix: str = ""  # addresses that no other cluster at the site has, e.g. "10.96.16.0/20"; "": none given
    # what the order chose beside machines, e.g. {"k8sVersion": "v1.35.6"}; typed by people
    parameters: Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    # accounts of members and of ours that will be made, where none is yet: for a plan
    awaited: tuple[int, int] = (0, 0)
    enforces_limits: bool = False  # Slurm is to refuse or hold what is over the tenant's own limits

    @property
    def account_numbers(self) -> tuple[int, int]:
        """How many accounts work, or will: of members who may submit, and of our own."""
        if not self.accounts:
            return self.awaited
        members = sum(one.active for one in self.accounts if one.kind == "member")
        return members, sum(one.active for one in self.accounts if one.kind != "member")


@dataclass(frozen=True, slots=True)
class StepContext:
    """Everything that a step may know in one pass."""

    spec: ClusterSpec
    settings: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  # the site's settings, JSON
    # by step name, from the steps that were seen ready before; of a cluster that goes, what every step told
    # last, the asking one included: that is how a step knows that it is asked about removal
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: NO_FACTS)
    # "slurm-jwt-key", what earlier steps kept, and the site's own as "site.<name>"
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    ports: range = range(0)  # a block of loopback ports that is the cluster's own (local drivers)
    keep: Keeper = field(default=forget, repr=False)
    # where observe may leave what it read for an apply that follows at once, and apply what it was answered
    # for the look after it; None where nothing follows
    passed_on: dict[str, Any] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing outside that is not as the spec wants it. The values are for people; never a secret."""

    thing: str  # e.g. "NodeSet slurm/slurm-worker-gpu"
    path: str  # e.g. "spec.replicas"; "" when the thing as a whole is missing or too much
    wanted: str
    found: str


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that an apply would create, change or remove, for the plan on the approval page."""

    action: Literal["create", "change", "remove"]
    system: str  # where, e.g. "Netris of dc1"
    thing: str
    text: str = ""  # as it would be sent, without secrets
    differences: tuple[Difference, ...] = ()  # of a change


@dataclass(frozen=True, slots=True)
class Observed:
    """What a look at the outside found."""

    exists: bool  # False only after a positive "not there" from a complete, authenticated answer
    in_sync: bool = False  # the outside matches the spec
    ready: bool = False  # and works
    reason: str = ""  # CamelCase, shown to people
    message: str = ""  # one sentence for people; never a secret
    differences: tuple[Difference, ...] = ()  # what is not in sync, where the step can tell
    routine: bool = False  # not in sync by the clock alone, e.g. a token to renew: nobody is asked first
    waits_for: str = ""  # whom, if it is not the outside, e.g. "running jobs": then no deadline runs
    facts: Mapping[str, str] = field(default_factory=lambda: EMPTY)  # endpoint, VPC id ...; never a secret


class Step(Protocol):
    """One idempotent unit of provisioning. No verb waits or sleeps; each outside call takes under 30 s.

    All three verbs raise TemporaryError or PermanentError of portal.lib.errors, nothing else.
    """

    name: str  # stored; never renamed without a migration
    component: str  # who provides it, shown to people, e.g. "Slurm"
    needs: tuple[str, ...]  # steps that must be ready first
    deadline: dt.timedelta  # not ready by then: stalled, a person is told

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""

    def observe(self, ctx: StepContext) -> Observed:
        """Look; change nothing."""

    def apply(self, ctx: StepContext) -> None:
        """Ask for what is wanted, do not wait; safe to repeat."""

    def remove(self, ctx: StepContext) -> None:
        """Ask for removal, do not wait; absent is fine."""


@runtime_checkable
class Previews(Protocol):
    """A step that can show more than lines: each thing that its apply would touch."""

    def preview(self, ctx: StepContext) -> tuple[Change, ...]:
        """What an apply would do now; changes nothing. Raises TemporaryError and PermanentError."""
