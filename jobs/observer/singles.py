"""Asks for jobs by their ids, several at a time and never for long: what is not reached is not known."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import JobRecord

CONNECTIONS: Final = 8
BUDGET: Final = 2.0  # seconds of one look


def ask(
    gateway: SlurmGateway, job_ids: Iterable[int], *, budget: float = BUDGET
) -> Iterator[tuple[int, tuple[JobRecord, ...]]]:
    """(id, its records) in any order; records are empty only where Slurm says that there is no such job.

    An array's id gives all of its tasks. Raises OutsideError at the first failure. What the budget does not
    reach is left out.
    """
    end = time.monotonic() + budget
    waiting = iter(dict.fromkeys(job_ids))
    with ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="single") as pool:
        asked: dict[Future[tuple[JobRecord, ...]], int] = {}
        try:
            while True:
                if time.monotonic() < end:
                    for job_id in itertools.islice(waiting, CONNECTIONS - len(asked)):
                        asked[pool.submit(gateway.job, job_id)] = job_id
                if not asked:
                    return
                done, _ = wait(asked, return_when=FIRST_COMPLETED)
                for future in done:
                    yield asked.pop(future), future.result()
        finally:
            for future in asked:
                future.cancel()
