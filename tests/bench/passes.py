"""The part of tests.bench.kube that needs Django: `python -m tests.bench.passes RESULT`."""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from django.db import connections  # noqa: E402

from clusters.clients.kube.models import Access, Kind, Manifest  # noqa: E402
from clusters.kube.step import ObjectsStep  # noqa: E402
from clusters.models import Cluster, Order, Phase, Site  # noqa: E402
from clusters.provisioning import engine  # noqa: E402
from clusters.provisioning.placed import Placed  # noqa: E402
from clusters.provisioning.registry import FACTORIES  # noqa: E402
from clusters.provisioning.steps import Observed, StepContext  # noqa: E402
from clusters.services.decisions import approve_order  # noqa: E402
from setup import kube  # noqa: E402
from tests.bench import objects  # noqa: E402
from tests.bench.world import ROOT  # noqa: E402
from tests.builders import make_tenant  # noqa: E402
from tests.clusters.builders import add_machines, make_flavor, make_order, operator  # noqa: E402
from tests.contract.kube.clients import Counting  # noqa: E402
from tests.contract.kube.driven import FLAVOR, Driven, every_driven, spec_of  # noqa: E402
from tests.kube import crds  # noqa: E402
from tests.kube.server import KubeServer  # noqa: E402

COUNTS = (1, 5)
WORKERS = (1, 2)
PROFILES = frozenset({"gitops-argo", "slinky-argo", "gpu-argo"})  # one site: all of it by Argo CD
NAME = "bench"
_own: dict[int, Counting] = {}


class Applied(Placed):
    """A driver's step whose objects stand as soon as they are applied: vendors' waiting is not measured."""

    def __init__(self, step: ObjectsStep, driven: Driven, *, needs: tuple[str, ...]) -> None:
        super().__init__(step, absent=())
        self.needs = needs
        self.objects = step
        self.driven = driven

    def observe(self, ctx: StepContext) -> Observed:
        """Ready if in sync; without what some steps ask of a tenant's own server."""
        seen = ObjectsStep.observe(self.objects, self.inside(ctx))
        return replace(seen, ready=True, reason="", message="") if seen.in_sync else seen

    def apply(self, ctx: StepContext) -> None:
        """As every step against Kubernetes."""
        ObjectsStep.apply(self.objects, self.inside(ctx))

    def inside(self, ctx: StepContext) -> StepContext:
        """With what the site and earlier steps would have given."""
        return self.driven.before(None, ctx)

    def scopes(self) -> set[tuple[str, Kind]]:
        """Each kind that it may have objects of."""
        return {(self.name, scope.kind) for scope in self.objects.scopes(fresh_context())}


def fresh_context() -> StepContext:
    """Of a cluster that nobody else has."""
    return StepContext(spec=spec_of())


def steps_on(access: Access) -> tuple[Applied, ...]:
    """The steps of one site, in a row; each worker process has a client of its own."""
    made: list[Applied] = []
    for driven in every_driven():
        if driven.profile in PROFILES and driven.role != "tenant":
            step = driven.step(lambda _: client_of(access))
            made.append(Applied(step, driven, needs=tuple(one.name for one in made[-1:])))
    return tuple(made)


def client_of(access: Access) -> Counting:
    """One for each process: a connection belongs to the process that opened it."""
    return _own.setdefault(os.getpid(), Counting(access))


def main(result: Path) -> None:
    """Measure, and keep the rows."""
    programs = kube.find(ROOT)
    server = KubeServer(programs)
    try:
        server.start(crds.store(programs))
        rows = list(_rows(server, programs["kubectl"]))
    finally:
        server.stop()
    result.write_text(json.dumps(rows), encoding="utf-8")


def _rows(server: KubeServer, kubectl: Path) -> Iterator[tuple[str, ...]]:
    steps = steps_on(server.admin)
    for step in steps:
        step.driven.before(server, fresh_context())  # namespaces
    FACTORIES[NAME] = lambda _: steps
    site = _site(sum(COUNTS) * len(WORKERS))
    for count in COUNTS:
        for workers in WORKERS:
            if workers <= count:
                yield _row(server, kubectl, site, steps, count, workers)


def _site(machines: int) -> Site:
    flavor = make_flavor(FLAVOR.name, gpus=FLAVOR.gpu_count, cpus=FLAVOR.cpus)
    site = Site.objects.create(name="Bench", slug="bench", drivers={"slurm": NAME}, task_queue="bench")
    add_machines(site, flavor, machines)
    return site


def _row(
    server: KubeServer,
    kubectl: Path,
    site: Site,
    steps: Sequence[Applied],
    count: int,
    workers: int,
) -> tuple[str, ...]:
    label = f"{count}-{workers}"
    orders = [
        make_order(make_tenant(f"Tenant {label}-{number}"), site, name=f"c-{label}-{number}", nodes=1)
        for number in range(count)
    ]
    theirs = _by_kubectl(server, kubectl, steps, count, workers)
    began = time.monotonic()
    clusters = [str(_approve(order).pk) for order in orders]
    _each(workers, _build, clusters)
    ours = (time.monotonic() - began) / count
    client = client_of(server.admin)
    client.reads = client.changes = 0
    engine.reconcile(clusters[-1])
    kinds = set().union(*(step.scopes() for step in steps))
    return (
        str(count),
        str(workers),
        str(len(_manifests(steps))),
        f"{ours * 1000:.0f}",
        f"{theirs * 1000:.0f}",
        f"{ours / theirs:.2f}",
        str(client.reads),
        str(client.changes),
        str(len(kinds)),
    )


def _approve(order: Order) -> Cluster:
    done = approve_order(actor=operator(), order=order, plan_hash=order.plan_hash, note="Bench.")
    assert done.cluster is not None
    return done.cluster


def _build(cluster: str) -> None:
    """Passes until all is there, each as the task makes it."""
    for _ in range(20):
        engine.reconcile(cluster)
        if Cluster.objects.get(pk=cluster).phase == Phase.READY:
            return
    found = Cluster.objects.get(pk=cluster)
    raise AssertionError(f"not ready: {found.phase} {found.reason} {found.message}")


def _each(workers: int, work: Any, items: Iterable[Any]) -> None:
    """By one process after the other, or by so many processes, as Celery's workers are."""
    if workers == 1:
        for one in items:
            work(one)
        return
    connections.close_all()
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        pool.map(work, items, chunksize=1)


def _by_kubectl(
    server: KubeServer, kubectl: Path, steps: Sequence[Applied], count: int, workers: int
) -> float:
    """Seconds for each cluster with `kubectl apply --server-side` of the same objects under other names."""
    with tempfile.TemporaryDirectory(prefix="freehold-bench-") as folder:
        config = objects._kubeconfig(server, Path(folder))
        files = [objects._file(Path(folder) / str(number), _manifests(steps)) for number in range(count)]
        began = time.monotonic()
        _each(workers, functools.partial(_kubectl, kubectl, config), files)
        return (time.monotonic() - began) / count


def _kubectl(kubectl: Path, config: Path, file: Path) -> None:
    command = [str(kubectl), "--kubeconfig", str(config), "apply", "--server-side", "-f", str(file)]
    subprocess.run(command, check=True, capture_output=True)


def _manifests(steps: Sequence[Applied]) -> list[Manifest]:
    """All objects of one cluster."""
    ctx = fresh_context()
    return [one.manifest for step in steps for one in step.objects.batch(step.inside(ctx)).wanted]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
