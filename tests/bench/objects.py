"""How long drivers take to bring their objects onto an API server, beside kubectl with the same objects."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Manifest
from clusters.kube.step import ObjectsStep
from clusters.provisioning.steps import StepContext
from setup import kube
from tests.bench.world import ROOT
from tests.contract.kube.clients import Counting
from tests.contract.kube.driven import Driven, every_driven, spec_of
from tests.kube import crds
from tests.kube.server import KubeServer

TITLE = "Objects of a cluster onto one API server, by the steps of all drivers there, and by kubectl"
HEADS = (
    "clusters",
    "objects each",
    "ms each",
    "ms each by kubectl",
    "ratio",
    "reads of a ready pass",
    "kinds",
)
COUNTS = (1, 20, 200)
Pair = tuple[ObjectsStep, StepContext]


def measure() -> Iterator[tuple[str, ...]]:
    """One row for each number of clusters. What stands in a tenant's own server is left out."""
    programs = kube.find(ROOT)
    if programs.keys() != kube.PACKAGES.keys():
        yield ("not measured: run `make kube-assets`", *("" for _ in HEADS[1:]))
        return
    server = KubeServer(programs)
    try:
        server.start(crds.store(programs))
        for count in COUNTS:
            yield _row(server, programs["kubectl"], count)
    finally:
        server.stop()


def _row(server: KubeServer, kubectl: Path, count: int) -> tuple[str, ...]:
    driven = [one for one in every_driven() if one.role != "tenant"]
    # the same number of clusters for each, so that neither finds what the other made
    mine = [_cluster(server, server.client, driven) for _ in range(count)]
    theirs = [_cluster(server, server.client, driven) for _ in range(count)]
    with tempfile.TemporaryDirectory(prefix="freehold-bench-") as folder:
        config = _kubeconfig(server, Path(folder))
        files = [_file(Path(folder) / str(number), _objects(pairs)) for number, pairs in enumerate(theirs)]
        began = time.monotonic()
        for file in files:
            command = [str(kubectl), "--kubeconfig", str(config), "apply", "--server-side", "-f", str(file)]
            subprocess.run(command, check=True, capture_output=True)
        by_kubectl = (time.monotonic() - began) / count
    began = time.monotonic()
    for pairs in mine:
        for step, ctx in pairs:
            step.observe(ctx)
            step.apply(ctx)
    ours = (time.monotonic() - began) / count
    reads, kinds = _ready_pass(server, driven)
    return (
        str(count),
        str(len(list(_objects(mine[0])))),
        f"{ours * 1000:.0f}",
        f"{by_kubectl * 1000:.0f}",
        f"{ours / by_kubectl:.2f}",
        str(reads),
        str(kinds),
    )


def _cluster(server: KubeServer, client: KubeClient, driven: Iterable[Driven]) -> list[Pair]:
    """The steps of one cluster, with what stands before them made."""
    ctx = StepContext(spec=spec_of())
    return [(one.step(lambda _: client), one.before(server, ctx)) for one in driven]


def _ready_pass(server: KubeServer, driven: Iterable[Driven]) -> tuple[int, int]:
    """Reads of one look at everything that is as wanted, and how many kinds that is."""
    counting = Counting(server.admin)
    pairs = _cluster(server, counting, driven)
    for step, ctx in pairs:
        step.apply(ctx)
    counting.reads = 0
    for step, ctx in pairs:
        step.observe(ctx)
    kinds = {(step.name, scope.kind) for step, ctx in pairs for scope in step.scopes(ctx)}
    return counting.reads, len(kinds)


def _objects(pairs: Iterable[Pair]) -> Iterator[Manifest]:
    for step, ctx in pairs:
        for one in step.batch(ctx).wanted:
            yield one.manifest


def _file(path: Path, manifests: Iterable[Manifest]) -> Path:
    path.write_text("\n".join(json.dumps(one) for one in manifests), encoding="utf-8")
    return path


def _kubeconfig(server: KubeServer, folder: Path) -> Path:
    def text(content: bytes) -> str:
        return base64.b64encode(content).decode("ascii")

    access = server.admin
    cluster = {"server": server.url, "certificate-authority-data": text(access.ca_pem)}
    user = {
        "client-certificate-data": text(access.certificate_pem),
        "client-key-data": text(access.key_pem),
    }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": user}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    }
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
