"""What a row of the table says, and for which cluster it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from clusters.clients.slurmrest.dialects.submit import can_carry
from portal.lib.types import Words

Takes = Literal["value", "maybe", "nothing"]
Reader = Callable[[str], object | None]
Release = tuple[int, int]  # of Slurm: (22, 5)

OLDEST: Final[Release] = (22, 5)
NEWEST: Final[Release] = (26, 5)
# the release that served an API version first, where a cluster does not tell its release
_FIRST: Final[Mapping[int, Release]] = {
    37: (21, 8),
    38: (22, 5),
    39: (23, 2),
    40: (23, 11),
    41: (24, 5),
    42: (24, 11),
    43: (25, 5),
    44: (25, 11),
}


@dataclass(frozen=True, slots=True)
class Target:
    """The API version and release of the cluster that will get the job; blank: the newest of both."""

    api: str = ""
    release: Release = NEWEST

    @classmethod
    def of(cls, api: str, release: str = "") -> Target:
        """From what is known of a cluster: "v0.0.38", "22.05.8"."""
        parts = release.split(".")
        if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit():
            return cls(api, (int(parts[0]), int(parts[1])))
        number = api.rpartition(".")[2]
        return cls(api, _FIRST.get(int(number), NEWEST) if number.isdigit() else NEWEST)

    def carries(self, field: str) -> bool:
        """Whether the cluster's API has a key for a field of a request."""
        return not self.api or can_carry(field, self.api)

    @property
    def is_new(self) -> bool:
        """sbatch of 23.11 leaves to slurmctld what older ones worked out."""
        return self.release >= (23, 11)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of sbatch. Exactly one of `field`, `refused` and `ignored` is set."""

    name: str  # --name
    short: str = ""  # -x
    takes: Takes = "value"
    field: str = ""  # of JobSpec, or a word that the client part understands: export, hint, resources ...
    reader: Reader | None = None  # the value of `field`, or {field: value} for several
    refused: Words = ""  # why, and what to do instead
    ignored: Words = ""  # taken and not sent: it has no effect on the job
    also: tuple[str, ...] = ()  # further fields that it sets
    adds_up: bool = False  # several lines add up, before 25.05
    since: Release = OLDEST  # when sbatch got it
    until: Release = (99, 0)  # when it lost it
    text: Words = ""  # what it does, for the page of options
    example: str = ""  # a value; blank: without one

    def is_known_to(self, target: Target) -> bool:
        """Whether sbatch of the cluster's release takes it at all."""
        return self.since <= target.release < self.until

    @property
    def written(self) -> str:
        """As in a script: --nodes=2-4."""
        return f"--{self.name}={self.example}" if self.example else f"--{self.name}"

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields of a request that it may set."""
        return tuple(filter(None, (self.field, *self.also)))
