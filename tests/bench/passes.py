"""The part of tests.bench.kube that needs Django: `python -m tests.bench.passes RESULT`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from clusters.clients.kube.models import Access, Manifest  # noqa: E402
from clusters.kube.sinks import Scope  # noqa: E402
from clusters.kube.step import ObjectsStep  # noqa: E402
from clusters.models import Cluster, Order, Phase, Site  # noqa: E402
from clusters.provisioning import engine  # noqa: E402
from clusters.provisioning.placed import Placed  # noqa: E402
from clusters.provisioning.registry import FACTORIES  # noqa: E402
from clusters.provisioning.steps import Observed, StepContext  # noqa: E402
from clusters.services.decisions import approve_order  # noqa: E402
from portal.lib.errors import TemporaryError  # noqa: E402
from setup import kube  # noqa: E402
from tests.bench import kubectl  # noqa: E402
from tests.bench.world import ROOT  # noqa: E402
from tests.builders import make_tenant  # noqa: E402
from tests.clusters.builders import add_machines, make_flavor, make_order, operator  # noqa: E402
from tests.contract.kube.clients import Counting  # noqa: E402
from tests.contract.kube.driven import FLAVOR, Driven, every_driven, spec_of  # noqa: E402
from tests.kube import crds  # noqa: E402
from tests.kube.server import KubeServer  # noqa: E402

COUNTS = (1, 20, 200)
WORKERS = 2
BLOCK = 20  # tenants
LONGEST = 75.0  # seconds for one row; what was not reached by then is not measured
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

    def scopes(self) -> tuple[Scope, ...]:
        """Where it may have objects."""
        return self.objects.scopes(fresh_context())


class UsualServer(KubeServer):
    """With a watch cache, as servers have: without it a list reads the objects of all tenants from etcd."""

    def _spawn(self, name: str, *options: str) -> None:
        super()._spawn(name, *(one for one in options if one != "--watch-cache=false"))

    def fill(self, scopes: Iterable[Scope]) -> None:
        """List each kind until its cache answers; a real server's are full when a portal comes."""
        end = time.monotonic() + 60
        for kind in {scope.kind for scope in scopes}:
            while True:
                try:
                    self.client.list(kind)
                    break
                except TemporaryError:
                    assert time.monotonic() < end, kind
                    time.sleep(0.1)


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
    server = UsualServer(programs)
    try:
        server.start(crds.store(programs))
        # spawned: what PostgreSQL's connections hold here must not be inherited
        with get_context("spawn").Pool(WORKERS, _offer, [server.admin]) as pool:
            rows = list(_rows(server, programs["kubectl"], pool))
    finally:
        server.stop()
    result.write_text(json.dumps(rows), encoding="utf-8")


def _rows(server: UsualServer, program: Path, pool: Pool) -> Iterator[tuple[str, ...]]:
    steps = steps_on(server.admin)
    scopes = [scope for step in steps for scope in step.scopes()]
    server.fill(scopes)
    for namespace in {scope.namespace for scope in scopes if scope.namespace}:
        server.ensure_namespace(namespace)
    _offer(server.admin)
    site = _site(sum(COUNTS) * 2)
    for count in COUNTS:
        yield _row(server, program, site, steps, count, None)
        if count > 1:
            yield _row(server, program, site, steps, count, pool)


def _site(machines: int) -> Site:
    flavor = make_flavor(FLAVOR.name, gpus=FLAVOR.gpu_count, cpus=FLAVOR.cpus)
    site = Site.objects.create(name="Bench", slug="bench", drivers={"slurm": NAME}, task_queue="bench")
    add_machines(site, flavor, machines)
    return site


def _row(
    server: KubeServer,
    program: Path,
    site: Site,
    steps: Sequence[Applied],
    count: int,
    pool: Pool | None,
) -> tuple[str, ...]:
    workers = WORKERS if pool else 1
    label = f"{count}-{workers}"
    orders = [
        make_order(make_tenant(f"Tenant {label}-{number}"), site, name=f"c-{label}-{number}", nodes=1)
        for number in range(count)
    ]
    theirs = ours = 0.0
    clusters: list[str] = []
    ends = time.monotonic() + LONGEST
    for start in range(0, count, BLOCK):  # by turns, so that both meet the same machine
        block = orders[start : start + BLOCK]
        theirs += _by_kubectl(server, program, steps, len(block), pool)
        began = time.monotonic()
        clusters += (approved := [str(_approve(order).pk) for order in block])
        _each(pool, _build, approved)
        ours += time.monotonic() - began
        if time.monotonic() > ends:
            break
    done = len(clusters)
    client = client_of(server.admin)
    client.reads = client.changes = 0
    engine.reconcile(clusters[-1])
    kinds = {(step.name, scope.kind) for step in steps for scope in step.scopes()}
    return (
        str(count) if done == count else f"{count}, of which {done} in time",
        str(workers),
        str(len(_manifests(steps))),
        f"{ours * 1000 / done:.0f}",
        f"{theirs * 1000 / done:.0f}",
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


def _each(pool: Pool | None, work: Callable[[Any], None], items: Sequence[Any]) -> None:
    """One after the other here, or by the processes of the pool, as by Celery's."""
    if pool is None:
        for one in items:
            work(one)
    else:
        pool.map(work, items, chunksize=1)


def _offer(access: Access) -> None:
    """In each process: the site's drivers."""
    steps = steps_on(access)
    FACTORIES[NAME] = lambda _: steps


def _by_kubectl(
    server: KubeServer, program: Path, steps: Sequence[Applied], count: int, pool: Pool | None
) -> float:
    """Seconds in all with `kubectl apply --server-side` of the same objects under other names."""
    with tempfile.TemporaryDirectory(prefix="freehold-bench-") as folder:
        config = kubectl.write_config(Path(folder, "kubeconfig"), server.admin)
        files = [
            kubectl.write_objects(Path(folder, str(number)), _manifests(steps)) for number in range(count)
        ]
        began = time.monotonic()
        _each(pool, kubectl.Kubectl(program, config), files)
        return time.monotonic() - began


def _manifests(steps: Sequence[Applied]) -> list[Manifest]:
    """All objects of one cluster."""
    ctx = fresh_context()
    return [one.manifest for step in steps for one in step.objects.batch(step.inside(ctx)).wanted]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
