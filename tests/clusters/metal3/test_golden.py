"""Every manifest that the Metal3 driver sends, as files to read; a real API server takes each and no mistake.

After a wanted change: `python -m tests.clusters.metal3.test_golden` writes them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clusters.clients.kube import errors
from clusters.clients.kube.models import Kind, Manifest, Ref
from clusters.drivers.metal3 import shapes
from clusters.drivers.metal3.hosts import CLAIM, HOST, read
from clusters.kube import kinds, marks
from clusters.kube.text import to_yaml
from tests.clusters.metal3.ironic import Metal3
from tests.clusters.metal3.subject import settings_for
from tests.contract.kube.driven import FIXED, spec_of
from tests.kube import golden
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

FOLDER = Path(__file__).with_name("golden")
SITE = Metal3("metal3-golden", "metal3-golden-claims")
SPEC = spec_of(FIXED)
(POOL,) = SPEC.pools
(MACHINE, _) = POOL.machines
FOUND: dict[str, Any] = {
    "metadata": {"name": MACHINE, "uid": str(FIXED), "resourceVersion": "1"},
    "spec": {"online": False},
    "status": {
        "provisioning": {"state": "available", "ID": ""},
        "operationalStatus": "OK",
        "operationHistory": {
            "provision": {"start": "2026-01-01T00:00:00Z"},
            "deprovision": {"end": "2026-01-02T00:00:00Z"},
        },
    },
}


def sent() -> dict[str, tuple[Kind, Manifest]]:
    """By file: what is sent when a host is taken, given back and let go, and when one is claimed."""
    by_hosts = settings_for(SITE, mode="hosts", network_data="net-{machine}")
    by_claims = settings_for(SITE, network_data="net-{machine}")
    host = read(FOUND)
    claim = marks.marked(shapes.claim(MACHINE, host, SPEC, POOL, by_claims), SPEC, shapes.STEP)
    return {
        "hosts/1-held": (HOST, shapes.held(host, SPEC, POOL, by_hosts)),
        "hosts/2-going": (HOST, shapes.going(host, SPEC, by_hosts)),
        "hosts/3-free": (HOST, shapes.free(host, SPEC, by_hosts)),
        "claims/1-claim": (CLAIM, claim),
    }


def main() -> None:
    """Write every file."""
    for name, (_, manifest) in sent().items():
        path = FOLDER / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_yaml(manifest), encoding="utf-8")


each = pytest.mark.parametrize("name", sent())


@each
def test_what_is_sent_is_what_the_golden_file_shows(name: str) -> None:
    assert to_yaml(sent()[name][1]) == (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert {f"{path.parent.name}/{path.stem}" for path in FOLDER.rglob("*.yaml")} == set(sent())


@each
@pytest.mark.slow
@pytest.mark.xdist_group("kube")
def test_a_real_server_takes_it_and_refuses_each_misspelt_twin(name: str, kube_server: KubeServer) -> None:
    kind, manifest = sent()[name]
    for namespace in (SITE.namespace, SITE.claims):
        kube_server.ensure_namespace(namespace)
    if kind == HOST:
        manifest = _of_the_real_host(kube_server, manifest)
    kube_server.client.apply(manifest, kind, dry_run=True)
    twins = list(golden.twins(manifest, _schema(kube_server, kind)))
    assert len(twins) > 5
    assert [path for path, wrong, twin in twins if wrong not in _refusal(kube_server, kind, twin)] == []


def _of_the_real_host(server: KubeServer, manifest: Manifest) -> Manifest:
    ref = Ref(HOST, MACHINE, SITE.namespace)
    if server.client.get(ref) is None:
        SITE.add_host(Hands(server.client), MACHINE)
    found = server.client.get(ref)
    assert found is not None
    own = {
        name: found["metadata"][name] for name in ("uid", "resourceVersion") if name in manifest["metadata"]
    }
    return {**manifest, "metadata": {**manifest["metadata"], **own}}


def _refusal(server: KubeServer, kind: Kind, twin: Manifest) -> str:
    try:
        server.client.apply(twin, kind, dry_run=True)
    except errors.Invalid as error:
        return error.message
    return ""


def _schema(server: KubeServer, kind: Kind) -> Mapping[str, Any]:
    found = server.client.get(Ref(kinds.CRD, f"{kind.plural}.{kind.group}"))
    assert found is not None
    schema: Mapping[str, Any] = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


if __name__ == "__main__":
    main()
