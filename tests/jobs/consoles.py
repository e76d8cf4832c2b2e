"""A console without a cluster behind it: notes who asked for what, and prints the lines it is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clusters.clients.slurm_console.console import SlurmConsole, check_job
from clusters.clients.slurm_console.lines import FORMAT, Line
from clusters.clients.slurmrest.models import JobRecord
from clusters.models import SlurmIdentity
from clusters.services import consoles
from jobs import outside


class FakeConsole:
    """Implements SlurmConsole for every account; `account` is whoever asked last."""

    def __init__(self) -> None:
        self.account = ""
        self.asked: list[tuple[str, str, str]] = []
        self.fault: Exception | None = None
        self.lines: list[Line] = []
        self.queues = 0

    def requeue(self, job: str) -> None:
        self._note("requeue", job)

    def suspend(self, job: str) -> None:
        self._note("suspend", job)

    def resume(self, job: str) -> None:
        self._note("resume", job)

    def top(self, job: str) -> None:
        self._note("top", job)

    def queue(self) -> Iterator[Line]:
        self.queues += 1
        yield from self.lines
        if self.fault is not None:
            raise self.fault

    def _note(self, verb: str, job: str) -> None:
        if self.fault is not None:
            raise self.fault
        self.asked.append((self.account, verb, check_job(job)))


def line_of(record: JobRecord, *, state: str = "") -> Line:
    """As squeue prints the record."""
    ran = record.submit_time, record.start_time, record.end_time
    words = (
        str(record.job_id),
        record.shown_id,
        state or record.state,
        record.user_name or "nobody",
        record.partition or "(null)",
        *("(null)", "(null)"),
        *("N/A" if moment is None else str(moment) for moment in ran),
        *("10:00", "1", "1", "N/A", record.nodes, record.reason or "None", record.name),
        record.comment or "(null)",
    )
    assert len(words) == len(FORMAT)
    return words


def install(monkeypatch: pytest.MonkeyPatch, made: FakeConsole | None = None) -> FakeConsole:
    """Every cluster has this console."""
    console = made or FakeConsole()

    @contextmanager
    def console_for(identity: SlurmIdentity) -> Iterator[SlurmConsole]:
        console.account = identity.name
        yield console

    monkeypatch.setattr(outside, "console_for", console_for)
    monkeypatch.setattr(consoles, "why_absent", lambda cluster: "")
    return console
