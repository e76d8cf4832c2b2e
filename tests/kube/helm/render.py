"""Renders charts by the real Helm, as Argo CD and Flux do."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from clusters.clients.kube.models import Kind, Manifest
from clusters.kube.renderers.release import Release
from clusters.kube.text import to_yaml
from setup import charts, kube
from tests.fixtures.ci import in_ci
from tests.kube.server import KubeServer

ROOT = Path(__file__).resolve().parents[3]
KUBERNETES = "1.35.4"  # what charts may ask about


class Refused(Exception):
    """Helm took the chart with these values for wrong, and said why."""


def program() -> Path:
    """Helm. Without it the test is skipped, and fails under CI=true."""
    return kube.find(ROOT, kube.HELM).get("helm") or _missing("helm")


def chart(name: str) -> Path:
    """The folder of a pinned chart. Without it the test is skipped, and fails under CI=true."""
    return charts.find(ROOT).get(name) or _missing(f"the chart {name}")


def text(helm: Path, folder: Path, release: Release) -> str:
    """What `helm template` prints. Raises Refused."""
    with tempfile.TemporaryDirectory(prefix="freehold-test-helm-") as home:
        command = [str(helm), "template", release.name, str(folder), "--namespace", release.namespace]
        done = subprocess.run(
            [*command, "--kube-version", KUBERNETES, "--values", "-"],
            input=to_yaml(release.values),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={"HOME": home, "PATH": os.environ["PATH"]},
        )
    if done.returncode:
        raise Refused(done.stderr.strip())
    return done.stdout


def objects(rendered: str) -> tuple[Manifest, ...]:
    """The objects, without what Helm runs only in `helm test`."""
    found = tuple(one for one in yaml.safe_load_all(rendered) if one)
    return tuple(one for one in found if "helm.sh/hook" not in (one["metadata"].get("annotations") or {}))


def kinds_of(server: KubeServer, manifests: tuple[Manifest, ...]) -> Iterator[tuple[Kind, Manifest]]:
    """Each with its kind as the server has it; a kind that it does not serve is an assertion's failure."""
    listed: dict[str, Mapping[str, Kind]] = {}
    for one in manifests:
        version = one["apiVersion"]
        if version not in listed:
            listed[version] = _served(server, version)
        assert one["kind"] in listed[version], f"{version} {one['kind']} is not served"
        yield listed[version][one["kind"]], one


def _served(server: KubeServer, version: str) -> Mapping[str, Kind]:
    found = server.client._described(Kind(version, "", "").root) or {}
    return {
        one["kind"]: Kind(version, one["kind"], one["name"], one["namespaced"])
        for one in found.get("resources") or ()
        if "/" not in one["name"]
    }


def _missing(what: str) -> Path:
    message = f"{what} missing: run `make kube-assets` once; it needs Go."
    if in_ci():
        pytest.fail(message)
    pytest.skip(message)
