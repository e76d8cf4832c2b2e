"""Every release of a chart that a driver orders, out of the objects that it sends to Argo CD or Flux."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from clusters.clients.kube.models import Manifest
from clusters.kube.gitops.installer import SET
from clusters.kube.renderers import argo, flux
from clusters.kube.renderers.release import Release
from tests.contract.kube.driven import every_driven
from tests.kube import golden

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """One release, and who sends it."""

    by: str  # the profile and step
    release: Release
    manifests: tuple[Manifest, ...]  # all that the step sends

    @property
    def id(self) -> str:
        """For test ids."""
        return f"{self.by}/{self.release.chart}"


def every_release(chart: str = "") -> list[Sent]:
    """Of all drivers, or only those of one chart."""
    found: list[Sent] = []
    for driven in every_driven():
        manifests = tuple(plain(one.manifest) for one in golden.wanted_of(driven))
        found += [Sent(driven.id, release, manifests) for release in _releases(manifests)]
    return [one for one in found if one.release.chart == chart or not chart]


def distinct(releases: Iterable[Sent]) -> list[Sent]:
    """Those that differ in what the chart sees."""
    found: dict[str, Sent] = {}
    for one in releases:
        release = one.release
        found.setdefault(repr((release.chart, release.name, release.namespace, release.values)), one)
    return list(found.values())


def changed(release: Release) -> Iterator[tuple[str, Release]]:
    """The release once for each single value, with another one in its place."""
    for path, value in _leaves(release.values, ()):
        yield _told(path), replace(release, values=_with(release.values, path, _another(value)))


def misspelt(release: Release) -> Iterator[tuple[str, Release]]:
    """The release once for each name in its values, with one letter too many."""
    for path in _names(release.values, ()):
        values = copy.deepcopy(dict(release.values))
        place: Any = values
        for step in path[:-1]:
            place = place[step]
        place[f"{path[-1]}{str(path[-1])[-1]}"] = place.pop(path[-1])
        yield _told(path), replace(release, values=values)


def plain(value: Any) -> Any:
    """Mappings and lists only, as they travel."""
    if isinstance(value, Mapping):
        return {str(name): plain(below) for name, below in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def _releases(manifests: Iterable[Manifest]) -> Iterator[Release]:
    by_name = {one["metadata"]["name"]: one for one in manifests}
    for name, one in by_name.items():
        if one["kind"] == argo.APPLICATION.kind:
            yield _of_argo(one["spec"]["source"], one["spec"]["destination"]["namespace"])
        elif one["kind"] == SET.kind:
            for element in one["spec"]["generators"][0]["list"]["elements"]:
                yield _of_element(element)
        elif one["kind"] == flux.RELEASE.kind:
            source = next(
                found
                for found in manifests
                if found["kind"] in {flux.OCI.kind, flux.CLASSIC.kind} and found["metadata"]["name"] == name
            )
            yield _of_flux(one["spec"], source)


def _of_argo(source: Manifest, namespace: str) -> Release:
    helm = source["helm"]
    chart = source.get("chart") or source["repoURL"].rpartition("/")[2]
    version = source["targetRevision"]
    return Release(helm["releaseName"], namespace, chart, source["repoURL"], version, helm["valuesObject"])


def _of_element(element: Mapping[str, str]) -> Release:
    chart = element["chart"] or element["repo"].rpartition("/")[2]
    values = yaml.safe_load(element["values"]) or {}
    where = (element["app"], element["namespace"], chart, element["repo"], element["revision"])
    return Release(*where, values)


def _of_flux(spec: Manifest, source: Manifest) -> Release:
    url = source["spec"]["url"]
    if source["kind"] == flux.OCI.kind:
        chart, version = url.rpartition("/")[2], source["spec"]["ref"]["tag"]
    else:
        chart, version = spec["chart"]["spec"]["chart"], spec["chart"]["spec"]["version"]
    return Release(spec["releaseName"], spec["targetNamespace"], chart, url, version, spec["values"])


def _leaves(value: Any, path: Place) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _leaves(below, (*path, name))
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _leaves(below, (*path, number))
    else:
        yield path, value


def _names(value: Any, path: Place) -> Iterator[Place]:
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield (*path, name)
            yield from _names(below, (*path, name))
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _names(below, (*path, number))


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}x"


def _with(values: Mapping[str, Any], path: Place, value: Any) -> dict[str, Any]:
    found = copy.deepcopy(dict(values))
    place: Any = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return found


def _told(path: Place) -> str:
    return ".".join(map(str, path))
