"""What may be changed of a job that Slurm has, and what must not even be asked of some API versions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from clusters.clients.slurmrest.models import Limit
from portal.lib.errors import PermanentError

LONGEST_TEXT: Final = 1024  # as in a submit


class JobChanges(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What shall be different. None leaves a thing as it is; an empty text takes it away."""

    hold: bool | None = None  # False releases
    name: str | None = None
    comment: str | None = None  # whole: with the mark of the submit
    partition: str | None = None
    time_limit_minutes: Limit = None
    nice: int | None = None
    priority: int | None = None  # for a Slurm administrator
    qos: str | None = None  # only with slurmdbd; else, and a wrong one where it is not enforced, is ignored
    account: str | None = None  # likewise
    reservation: str | None = None
    licenses: str | None = None
    constraints: str | None = None
    dependency: str | None = None
    begin: int | None = None  # epoch seconds; a moment that has passed means now
    nodes: int | None = None
    memory_mib: int | None = None  # per node
    memory_per_cpu_mib: int | None = None
    requeue: bool | None = None
    array_throttle: int | None = None  # tasks that run at once; 0 is no limit

    @property
    def asked(self) -> frozenset[str]:
        """The names of what shall change."""
        return frozenset(name for name in self.__struct_fields__ if getattr(self, name) is not None)


class UpdateResult(msgspec.Struct, frozen=True, kw_only=True):
    """What Slurm said to a change. Re-read the record in any case: it may differ from what was asked.

    Slurm 22.05 answers each change of an array with an error that says nothing, though it was made: then
    `is_certain` is False. `refused` names the tasks that were not changed, with Slurm's words.
    """

    warnings: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    is_certain: bool = True


class CannotAsk(PermanentError):
    """This API version would ignore the request without a word, or do something else; it was not sent.

    `fields` are names of JobChanges, or "task" for one task of an array by itself.
    """

    def __init__(self, version: str, fields: Iterable[str]) -> None:
        self.fields = tuple(sorted(fields))
        what = ", ".join(name.replace("_", " ") for name in self.fields)
        super().__init__("SlurmCannotAsk", f"The cluster's Slurm API {version} cannot change this: {what}.")


def check_changes(changes: JobChanges) -> None:
    """Raise ValueError for what is never sent: nothing at all, control characters, too small numbers."""
    asked = changes.asked
    if not asked:
        raise ValueError("Nothing is to be changed.")
    for name in asked:
        value = getattr(changes, name)
        if isinstance(value, str):
            _check_text(value)
        elif isinstance(value, int) and not isinstance(value, bool) and value < _least(name):
            raise ValueError(f"{name} is at least {_least(name)}.")
    if changes.partition == "" or changes.name == "":
        raise ValueError("A job has a name and a partition.")
    if changes.memory_mib is not None and changes.memory_per_cpu_mib is not None:
        raise ValueError("Memory is given for each node or for each CPU, not both.")


def _check_text(text: str) -> None:
    if any(ord(letter) < 32 for letter in text):
        raise ValueError("Names and comments hold no control characters.")
    if len(text.encode()) > LONGEST_TEXT:
        raise ValueError(f"Names and comments have at most {LONGEST_TEXT} bytes.")


def _least(name: str) -> int:
    if name == "nice":
        return -(2**31) + 3
    return 1 if name in {"time_limit_minutes", "nodes", "begin"} else 0
