"""A worker to be killed: sets Django up once, then runs the pass that ends it in a forked child.

Each line of its input is FOLDER CLUSTER POINT: kill a worker at that point, go on as the next one until it
is settled, and print what was made.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django

django.setup()

from django.db import connection  # noqa: E402

from clusters.models import Cluster, Phase  # noqa: E402
from clusters.provisioning import effects, engine, lease, record  # noqa: E402
from tenants.live import topics  # noqa: E402
from tests.clusters import fakes  # noqa: E402

STEPS = ("machines", "slurm", "smoke")  # one that none needs, one in the middle, one at the end


def killed_in(world: fakes.World, cluster_id: str, die_at: str) -> bool:
    """One pass in a child; True if it was killed."""
    connection.close()
    child = os.fork()
    if child == 0:
        os.environ["FAKE_DIE_AT"] = die_at
        _fault_around_records(world)
        try:
            engine.reconcile(cluster_id)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _fault_around_records(world: fakes.World) -> None:
    real = lease.held

    @contextmanager
    def held(mine: lease.Lease) -> Iterator[Cluster]:
        world.fault("before a record")
        with real(mine) as row:
            yield row
            world.fault("inside a record")
        world.fault("after a record")

    for module in (record, effects):
        vars(module)["held"] = held


def main(folder: str, cluster_id: str, die_at: str) -> None:
    """Kill at one point, then go on until it is settled; print what happened as JSON."""
    world = fakes.install(Path(folder), STEPS)
    vars(topics)["_send"] = lambda topic, version: None  # nobody watches: spare each child its Redis
    killed = killed_in(world, cluster_id, die_at)
    if killed:
        # the lease of the dead ends by itself; the test does not wait for it
        Cluster.objects.filter(pk=cluster_id).update(lease_until=None)
    for _ in range(6):
        engine.reconcile(cluster_id)
        row = Cluster.objects.get(pk=cluster_id)
        settled = row.phase == (Phase.READY if row.wanted else Phase.DELETED)
        if settled:
            break
    result = {"killed": killed, "phase": row.phase, "made": world.calls("created"), "things": world.things()}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    for line in sys.stdin:
        main(*line.split())
        sys.stdout.flush()
