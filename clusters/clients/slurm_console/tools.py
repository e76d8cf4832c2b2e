"""What every console does alike: its commands, and how much of the queue it takes."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from clusters.clients.slurm_console import commands
from clusters.clients.slurm_console.lines import Line, new_mark, read
from clusters.clients.slurmrest import errors


class ToolsConsole(ABC):
    """See SlurmConsole. How a tool is run, where and as whom, a subclass knows."""

    @abstractmethod
    def _run(self, tool: list[str], take: Callable[[bytes], object]) -> None:
        """To its end or the deadline; `take` gets what it prints, part by part, and may raise.

        Raises the errors of SlurmConsole, Unclear wherever it may have run and how it ended is not known.
        """

    def requeue(self, job: str) -> None:
        """See SlurmConsole."""
        self._change("requeue", job)

    def suspend(self, job: str) -> None:
        """See SlurmConsole."""
        self._change("suspend", job)

    def resume(self, job: str) -> None:
        """See SlurmConsole."""
        self._change("resume", job)

    def top(self, job: str) -> None:
        """See SlurmConsole."""
        self._change("top", job)

    def queue(self) -> Iterator[Line]:
        """See SlurmConsole."""
        mark = new_mark()
        # first to its end, and not in memory: who reads may take longer than squeue has time
        with tempfile.TemporaryFile() as kept:

            def keep(part: bytes) -> None:
                if kept.tell() + len(part) > commands.MOST_QUEUE:
                    raise errors.BadAnswer(commands.TOO_LONG)
                kept.write(part)

            try:
                self._run(commands.queue(mark), keep)
            except errors.Unclear as error:
                raise errors.NotReachable from error  # a look changes nothing
            kept.seek(0)
            yield from read(iter(lambda: kept.read(commands.PART), b""), mark)

    def _change(self, verb: str, job: str) -> None:
        self._run(commands.change(verb, job), lambda _: None)  # what is printed of a success says nothing
