"""How long a local control plane takes to start, and what it holds in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator

from clusters.drivers.local import planes
from setup import kube
from tests.bench.machine import memory_of
from tests.bench.world import ROOT
from tests.clusters.drivers.lab import open_lab
from tests.contract.driver_contract import settle
from tests.kube import assets

TITLE = "One local control plane, of two that run"
HEADS = (
    "control plane",
    "seconds to ready",
    "etcd MiB",
    "API server MiB",
    "controllers MiB",
    "sum MiB (PSS)",
)
COUNT = 2
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager")


def measure() -> Iterator[tuple[str, ...]]:
    """One row for each control plane; the second shares the programs' pages with the first."""
    if kube.find(ROOT).keys() != kube.PACKAGES.keys():
        yield ("not measured: run `make kube-assets`", *("" for _ in HEADS[1:]))
        return
    lab = open_lab(concerns=("machines", "fabric", "control_plane"))
    assets.link(lab.settings.programs)
    try:
        started = []
        for _ in range(COUNT):
            ctx = lab.prepare(lab.cluster(), until="control-plane")
            began = time.monotonic()
            settle(lab.site["control-plane"], ctx)
            started.append((ctx, time.monotonic() - began))
            settle(lab.site["nodes"], ctx)
        for number, (ctx, seconds) in enumerate(started, 1):
            found = planes.find(planes.of(lab.settings.data, ctx.spec).root, ctx.spec.gid)
            sizes = [memory_of(found[name].record.pid) for name in PROGRAMS]
            cells = (*sizes, sum(sizes))
            yield (str(number), f"{seconds:.1f}", *(f"{size:.0f}" for size in cells))
    finally:
        lab.close()
