"""SIGKILL of a worker before, inside and after each verb and each record: the next one converges."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from clusters.models import Allocation, Cluster, Order, OrderState, StepState
from clusters.services.clusters import terminate_cluster
from portal.lib.types import JSONDict
from tenants.models import AuditEvent, Tenant
from tests.builders import actor_for
from tests.cases import case
from tests.clusters.builders import approved_order, make_site, owner_of
from tests.clusters.fakes import World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
STEPS = ("machines", "slurm", "smoke")  # as tests.clusters.killable has them
MOST = 200


class Worker:
    """The process that is told where to die."""

    def __init__(self) -> None:
        database = connection.settings_dict
        url = f"postgresql://{database['USER']}@/{database['NAME']}?host={database['HOST']}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.clusters.killable"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "portal.settings"},
        )

    def run(self, folder: Path, cluster: Cluster, die_at: int) -> JSONDict:
        """Kill at this point, converge, and say what was made."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{folder} {cluster.pk} {die_at}\n")
        self._process.stdin.flush()
        result: JSONDict = json.loads(self._process.stdout.readline())
        return result

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait(timeout=60) == 0


@case("U38")
def test_a_killed_build_and_a_killed_removal_converge(world: World, tenant: Tenant, tmp_path: Path) -> None:
    make_site(machines=4)
    worker = Worker()
    points = {"build": 0, "removal": 0}
    try:
        for point in range(1, MOST):
            killed = _round(worker, tenant, tmp_path / str(point), point)
            points = {what: max(points[what], point * killed[what]) for what in points}
            if not any(killed.values()):
                break
    finally:
        worker.close()
    # three steps: look, ask, look, and the records between them, each seen from three sides
    assert points["build"] >= 25
    assert points["removal"] >= 25


def _round(worker: Worker, tenant: Tenant, folder: Path, point: int) -> dict[str, bool]:
    """Build and remove one cluster, each with a kill on the way; False when the kill came too late."""
    folder.mkdir()
    order = approved_order(tenant, name=f"gpu-{point}", nodes=1)
    cluster = order.cluster
    assert cluster is not None
    built = worker.run(folder, cluster, point)
    assert built["phase"] == "ready", f"killed at {point}: {built}"
    assert sorted(built["made"]) == sorted(STEPS), f"killed at {point}: made twice or not at all"
    assert Order.objects.get(pk=order.pk).state == OrderState.FULFILLED
    assert AuditEvent.objects.filter(verb="order.fulfilled", target_id=str(order.pk)).count() == 1
    assert set(StepState.objects.filter(cluster=cluster).values_list("status", flat=True)) == {"ready"}
    owner = actor_for(owner_of(tenant), tenant)
    terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
    removed = worker.run(folder, cluster, point)
    assert (removed["phase"], removed["things"]) == ("deleted", []), f"killed at {point}: {removed}"
    assert not Allocation.objects.filter(pool__cluster=cluster, released_at=None).exists()
    return {"build": bool(built["killed"]), "removal": bool(removed["killed"])}
