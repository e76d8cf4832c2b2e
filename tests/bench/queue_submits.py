"""Submits a second, by the portal and without it: figures of the part `queue`."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterator

from clusters.models import SlurmEndpoint
from jobs.observer.look import look
from jobs.observer.sources import Memory
from jobs.services import submissions
from jobs.services.drafts import Typed
from tests.builders import actor_for
from tests.jobs.long_queue import SCRIPT, LongQueue

SUBMITS = 100


def measure(queue: LongQueue) -> Iterator[tuple[str, str]]:
    """Jobs a second, one after the other: by the portal, by slurmrestd alone, by sbatch in a loop."""
    look(SlurmEndpoint.objects.select_related("cluster__site").get(cluster=queue.cluster), Memory())
    actor = actor_for(queue.member, queue.cluster.tenant)
    script = queue.lab.root / "job.sh"
    script.write_text(SCRIPT)
    ways: dict[str, Callable[[], object]] = {
        "through Freehold": lambda: submissions.submit_job(
            actor=actor,
            cluster=queue.cluster,
            typed=Typed(fields={"name": "rate"}, script=SCRIPT),
            key=uuid.uuid4(),
        ),
        "slurmrestd alone": lambda: queue.submit(name="rate"),
        "sbatch": lambda: queue.lab.run(["sbatch", "--parsable", str(script)], member=1),
    }
    for name, submit in ways.items():
        began = time.perf_counter()
        for _ in range(SUBMITS):
            submit()
        rate = SUBMITS / (time.perf_counter() - began)
        sys.stderr.write(f"  submits a second, {name}: {rate:.0f}\n")
        yield f"submits a second, {name}", f"{rate:.0f}"
    queue.lab.command("scancel", "--user", queue.lab.members[1].name)
