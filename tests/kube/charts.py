"""Plays Argo CD, its ApplicationSets and Flux: what charts lead to in a tenant's cluster is really made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from clusters.clients.kube.models import Kind, Manifest, Ref, ref_of
from clusters.kube import kinds, objects
from clusters.kube.gitops.installer import SET
from clusters.kube.renderers import argo, flux
from tests.kube.vendor_kinds import condition
from tests.kube.vendors import Hands, Vendor

INSTALLED = "test-gitops/installed"
Values = Mapping[str, Any]
Made = Iterable[tuple[Kind, Manifest]]
Chart = Callable[[Values], Made]


def deployment(
    name: str, namespace: str, *, replicas: int = 1, kind: Kind = kinds.DEPLOYMENT
) -> tuple[Kind, Manifest]:
    """A workload; another vendor says that it runs."""
    pod = {"containers": [{"name": "main", "image": "registry.invalid/main:1"}]}
    labels = {"app": name}
    spec: dict[str, Any] = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    if kind == kinds.STATEFUL_SET:
        spec["serviceName"] = name
    return kind, objects.manifest(kind, name, {"spec": spec}, namespace=namespace)


@dataclass
class GitOps:
    """All three controllers. `charts` says what a release of that name leads to, from its values."""

    charts: Mapping[str, Chart]
    holds: tuple[str, ...] = ()  # releases that are synced and never lead to anything
    seen: dict[str, Values] = field(default_factory=dict)  # the last values of each release
    _applied: dict[Ref, tuple[Manifest, int]] = field(default_factory=dict)  # and its generation then

    def look(self, hands: Hands) -> None:
        """One round."""
        self.seen = dict(_releases(hands))
        wanted: dict[Ref, tuple[Kind, Manifest]] = {}
        for name, values in self.seen.items():
            for kind, made in () if name in self.holds else self.charts.get(name, _nothing)(values):
                wanted[ref_of(made, kind)] = (kind, made)
        for ref, (kind, made) in wanted.items():
            self._keep(hands, ref, kind, made)
        for kind in {kind for chart in self.charts.values() for kind, _ in chart({})} | KINDS:
            for found in hands.all(kind):
                mine = (found["metadata"].get("labels") or {}).get(INSTALLED) == "yes"
                if mine and ref_of(found, kind) not in wanted:
                    hands.release_found(ref_of(found, kind), found)

    def _keep(self, hands: Hands, ref: Ref, kind: Kind, made: Manifest) -> None:
        """Apply it where it is not there, is wanted otherwise now, or was changed since."""
        there = {ref_of(one, kind): _generation(one) for one in hands.all(kind)}
        if self._applied.get(ref) == (made, there.get(ref)):
            return
        spaces = {str(one["metadata"]["name"]) for one in hands.all(kinds.NAMESPACE)}
        if ref.namespace and ref.namespace not in spaces:
            hands.create(kinds.NAMESPACE, objects.manifest(kinds.NAMESPACE, ref.namespace, {}))
        meta = {**made["metadata"], "labels": {INSTALLED: "yes"}}
        done = hands.apply({**made, "metadata": meta}, ref)
        if done is not None:
            self._applied[ref] = (made, _generation(done))


def _generation(found: Manifest) -> int:
    return int(found["metadata"].get("generation") or 0)


KINDS = {kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.DAEMON_SET}


def _nothing(_: Values) -> Made:
    return ()


def _releases(hands: Hands) -> Iterator[tuple[str, Values]]:
    for found in _alive(hands, argo.APPLICATION):
        helm = found["spec"]["source"]["helm"]
        yield helm["releaseName"], helm.get("valuesObject") or {}
    for found in _alive(hands, flux.RELEASE):
        yield found["spec"]["releaseName"], found["spec"].get("values") or {}
    for found in _alive(hands, SET):
        for element in found["spec"]["generators"][0]["list"]["elements"]:
            yield element["app"], yaml.safe_load(element["values"]) or {}


def _alive(hands: Hands, kind: Kind) -> list[Manifest]:
    return [one for one in hands.all(kind) if not one["metadata"].get("deletionTimestamp")]


def application_sets() -> Vendor:
    """Makes its Applications, which all come up; it tells of them in its status."""

    def status(found: Manifest, age: float) -> Mapping[str, Any] | None:
        del age
        name = found["metadata"]["name"]
        cluster = found["spec"]["template"]["spec"]["destination"]["name"]
        elements = found["spec"]["generators"][0]["list"]["elements"]
        told = [
            {
                "kind": "Application",
                "name": f"{cluster}-{one['app']}",
                "status": "Synced",
                "health": {"status": "Healthy"},
            }
            for one in elements
        ]
        fine = condition("ErrorOccurred", "False", "ApplicationSetUpToDate", name)
        return {"conditions": [fine], "resources": told}

    return Vendor(SET, status)
