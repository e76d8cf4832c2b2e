"""What was changed by hand on a local cluster is shown with old and new value, and mended when asked."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils.html import strip_tags

from clusters.clients.kube.models import Ref
from clusters.drivers.local import folder, node_drift, planes, telling
from clusters.drivers.local.ledger import Ledger
from clusters.drivers.local.nodes import NODES, NodesStep
from clusters.drivers.local.planes import SERVER
from clusters.drivers.local.settings import LocalSettings
from clusters.kube import tenant
from clusters.models import Cluster, StepState, StepStatus
from clusters.provisioning import engine
from clusters.provisioning.registry import FACTORIES
from clusters.provisioning.steps import Observed, StepContext
from tests.builders import make_tenant, sign_in
from tests.cases import case
from tests.clusters import fakes
from tests.clusters.builders import make_cluster, make_site, operator
from tests.clusters.drivers.lab import make_spec
from tests.kube.server import KubeServer


class Nodes(NodesStep):
    """The real step, on the session's API server in place of one of the cluster's own."""

    needs: tuple[str, ...] = ("machines",)

    def __init__(self, settings: LocalSettings, server: KubeServer) -> None:
        super().__init__(settings)
        self._server = server

    def _at(self, ctx: StepContext) -> StepContext:
        port = urlsplit(self._server.url).port or 0
        plane = planes.of(self._settings.data, ctx.spec)
        folder.claim(plane.home, ctx.spec)
        (plane.root / "local").mkdir(exist_ok=True)
        kept = {**ctx.secrets, tenant.KEPT_AS: tenant.pack(self._server.admin)}
        return dataclasses.replace(ctx, ports=range(port - SERVER, port + 1), secrets=kept)

    def observe(self, ctx: StepContext) -> Observed:
        return super().observe(self._at(ctx))

    def apply(self, ctx: StepContext) -> None:
        super().apply(self._at(ctx))

    def remove(self, ctx: StepContext) -> None:
        super().remove(self._at(ctx))


@pytest.fixture
def cluster(tmp_path: Path, kube_server: KubeServer, db: None) -> Iterator[Cluster]:
    """A ready cluster of two machines, at a site that asks before it mends."""
    world = fakes.install(tmp_path)
    step = Nodes(LocalSettings(data=tmp_path, system_user="freehold"), kube_server)
    FACTORIES[fakes.DRIVER] = lambda wanted: (*fakes.steps(world, ("machines",)), step)
    made = make_cluster(make_tenant(), make_site())
    made.site.settings = {"mend": "ask"}
    made.site.save()
    yield look(made, 2)
    for node in kube_server.client.list(NODES):
        kube_server.client.delete(Ref(NODES, node["metadata"]["name"]), uid=node["metadata"]["uid"])
    fakes.uninstall()


def look(cluster: Cluster, passes: int = 1) -> Cluster:
    """Let a worker look."""
    for _ in range(passes):
        engine.reconcile(cluster.pk)
    return Cluster.objects.get(pk=cluster.pk)


def state_of(cluster: Cluster) -> StepState:
    """The nodes step as the page shows it."""
    return StepState.objects.get(cluster=cluster, name="nodes")


def by_hand(server: KubeServer, name: str, change: dict[str, Any]) -> None:
    """What kubectl does, as another manager."""
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **change}
    path = f"{Ref(NODES, name).path}?fieldManager=kubectl"
    answer = server.client._send("PATCH", path, body, "application/strategic-merge-patch+json")
    assert answer.status == 200, answer.body


def page_of(browser: Client, cluster: Cluster) -> str:
    """The operators' page of the cluster."""
    answer = browser.get(f"/operations/clusters/cluster/{cluster.pk}/change/")
    return answer.content.decode()


@case("U38")
@pytest.mark.slow
@pytest.mark.xdist_group("kube")
def test_a_node_changed_by_hand_is_shown_and_mended(
    client: Client, cluster: Cluster, kube_server: KubeServer
) -> None:
    names = state_of(cluster).facts["nodes"].split(",")
    assert (state_of(cluster).status, len(names)) == (StepStatus.READY, 2)
    first, second = names
    # what is not ours to judge is no difference
    by_hand(kube_server, first, {"metadata": {"name": first, "labels": {"team.example/rack": "r7"}}})
    assert state_of(look(cluster)).status == StepStatus.READY

    pool = {"metadata": {"name": first, "labels": {"freehold.io/pool": "theirs"}}}
    taint = {"key": "example.com/keep-off", "value": "yes", "effect": "NoSchedule"}
    by_hand(kube_server, first, {**pool, "spec": {"taints": [taint]}})
    gone = kube_server.client.get(Ref(NODES, second))
    assert gone is not None
    kube_server.client.delete(Ref(NODES, second), uid=gone["metadata"]["uid"])
    state = state_of(look(cluster))
    assert state.status == StepStatus.DRIFTED
    told = [tuple(one[name] for name in ("thing", "path", "wanted", "found")) for one in state.differences]
    assert told == [
        (f"Node {first}", "metadata.labels[freehold.io/pool]", "train", "theirs"),
        (
            f"Node {first}",
            "spec.taints[example.com/keep-off]",
            "(nothing)",
            "example.com/keep-off=yes:NoSchedule",
        ),
        (f"Node {second}", "", "there", "not there"),
    ]

    actor = operator()
    assert actor.user is not None
    browser = sign_in(client, actor.user)
    text = page_of(browser, cluster)
    shown = " ".join(strip_tags(text).split())
    for words in ("train theirs", "example.com/keep-off=yes:NoSchedule", f"Node {second}"):
        assert words in html.unescape(shown), words
    seen = re.search(r'name="seen" value="([0-9a-f]{64})"', text)
    assert seen is not None
    browser.post(f"/operations/clusters/cluster/{cluster.pk}/do/mend/", {"seen": seen[1]})
    state = state_of(look(cluster))
    assert (state.status, state.differences) == (StepStatus.READY, [])
    nodes = {node["metadata"]["name"]: node for node in kube_server.client.list(NODES)}
    assert nodes[first]["metadata"]["labels"]["freehold.io/pool"] == "train"
    assert nodes[first]["metadata"]["labels"]["team.example/rack"] == "r7"
    assert not nodes[first]["spec"].get("taints")
    assert second in nodes
    assert 'id="drift"' not in page_of(browser, cluster)


def wanted_node() -> dict[str, Any]:
    """As the step sends it."""
    size = {"cpu": "8", "memory": "65536Mi"}
    ready = {"type": "Ready", "status": "True", "reason": "Simulated"}
    return {
        "metadata": {"name": "n1", "labels": {"freehold.io/pool": "train"}},
        "spec": {"providerID": "freehold://c/n1"},
        "status": {"capacity": size, "allocatable": size, "conditions": [ready]},
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"status": {"capacity": {"cpu": "8", "memory": "64Gi"}}}, []),
        ({"status": {"capacity": {"cpu": "4", "memory": "64Gi"}}}, [("status.capacity.cpu", "8", "4")]),
        ({"status": {"capacity": {"cpu": "8"}}}, [("status.capacity.memory", "65536Mi", "(nothing)")]),
        (
            {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Simulated"}]}},
            [("status.conditions[Ready].status", "True", "False")],
        ),
        (
            {"metadata": {"name": "n1", "labels": {}}},
            [("metadata.labels[freehold.io/pool]", "train", "(nothing)")],
        ),
        ({"metadata": {"name": "n1", "deletionTimestamp": "now"}}, [("", "there", "being removed")]),
    ],
)
def test_every_field_of_a_node_that_is_ours_is_compared(
    change: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    wanted = wanted_node()
    found = {part: {**wanted[part], **change.get(part, {})} for part in wanted}
    told = node_drift.differences(found, wanted)
    assert [(one.path, one.wanted, one.found) for one in told] == expected
    assert {one.thing for one in told} <= {"Node n1"}


def test_books_of_the_site_tell_what_differs(tmp_path: Path) -> None:
    spec = make_spec()
    ledger = Ledger(tmp_path / "machines", "machine")
    things = {name: {"pool": "train"} for name in spec.pools[0].machines}
    ledger.claim(spec, things)
    assert ledger.differences(spec, things) == ()
    first, second = spec.pools[0].machines
    (tmp_path / "machines" / f"{first}.json").unlink()
    found = ledger.differences(spec, {first: {"pool": "train"}, second: {"pool": "prep"}})
    assert [(one.thing, one.path, one.wanted, one.found) for one in found] == [
        (f"machine {first}", "", "there", "not there"),
        (f"machine {second}", "pool", "prep", "train"),
    ]
    assert [one.wanted for one in ledger.differences(spec, {first: {"pool": "train"}})] == [
        "there",
        "not there",
    ]


def test_lines_of_a_file_are_told_by_what_they_set_and_secrets_are_not(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    wanted = b"MaxJobCount=100\nNodeName=a CPUs=4\nNodeName=b CPUs=4\n"
    path.write_bytes(b"MaxJobCount=7\nNodeName=a CPUs=4\nDebugFlags=All\n")
    found = [(one.path, one.wanted, one.found) for one in telling.of_file(path, wanted)]
    assert found == [
        ("MaxJobCount", "MaxJobCount=100", "MaxJobCount=7"),
        ("NodeName=b", "NodeName=b CPUs=4", "(nothing)"),
        ("DebugFlags", "(nothing)", "DebugFlags=All"),
    ]
    (hidden,) = telling.of_file(path, b"another key", is_secret=True)
    assert (hidden.wanted, hidden.found) == ("(secret)", "(secret)")
    (gone,) = telling.of_file(tmp_path / "gres.conf", b"")
    assert (gone.wanted, gone.found) == ("there", "not there")
