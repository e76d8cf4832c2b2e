"""What fake Slurms have of SlurmGateway.submit_each: one submit after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from clusters.clients.slurmrest.models import SubmitRequest, SubmitResult
from portal.lib.errors import OutsideError


class _Submits(Protocol):
    def submit(self, request: SubmitRequest) -> SubmitResult: ...


class SubmitsEach:
    """For a class that has `submit`."""

    def submit_each(
        self: _Submits, requests: Iterable[SubmitRequest], *, at_once: int
    ) -> Iterator[tuple[int, SubmitResult | Exception]]:
        """See SlurmGateway."""
        assert at_once > 1
        for place, request in enumerate(requests):
            try:
                yield place, self.submit(request)
            except (OutsideError, ValueError) as error:
                yield place, error
