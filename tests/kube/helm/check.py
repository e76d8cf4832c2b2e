"""Looks whether a chart makes of a release what we mean: objects that a server takes, no value in vain."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from clusters.clients.kube.models import Kind, Manifest
from clusters.kube.renderers.release import Release
from tests.kube.helm import render, sent
from tests.kube.server import KubeServer


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of a vendor, and the Helm that renders it."""

    helm: Path
    folder: Path

    def objects(self, release: Release) -> tuple[Manifest, ...]:
        """What Argo CD or Flux would send to the cluster. Raises Refused."""
        return render.objects(render.text(self.helm, self.folder, release))

    def in_vain(self, release: Release) -> list[str]:
        """Values that make no difference: the chart does not know them, or they are what it has anyway."""
        before = render.text(self.helm, self.folder, release)
        return [path for path, told in self._tried(list(sent.changed(release))) if told == before]

    def taken_misspelt(self, release: Release) -> dict[str, str]:
        """Names that the chart takes with a letter too many, and what it makes of them."""
        tried = self._tried(list(sent.misspelt(release)))
        return {path: told for path, told in tried if told is not None}

    def _tried(self, releases: list[tuple[str, Release]]) -> Iterator[tuple[str, str | None]]:
        with ThreadPoolExecutor(2) as pool:
            yield from zip(
                (path for path, _ in releases),
                pool.map(self._text, (one for _, one in releases)),
                strict=True,
            )

    def _text(self, release: Release) -> str | None:
        try:
            return render.text(self.helm, self.folder, release)
        except render.Refused:
            return None


def apply(server: KubeServer, manifests: tuple[Manifest, ...], namespace: str) -> list[tuple[Kind, str]]:
    """Apply all, dry and with fieldValidation=Strict, as admin. Gives each kind and its namespace."""
    server.ensure_namespace(namespace)
    found = []
    for kind, one in render.kinds_of(server, manifests):
        meta = dict(one["metadata"])
        if kind.namespaced:
            meta.setdefault("namespace", namespace)
            server.ensure_namespace(meta["namespace"])
        made = server.client.apply({**one, "metadata": meta}, kind, dry_run=True)
        assert made["metadata"]["name"] == meta["name"]
        found.append((kind, meta.get("namespace", "")))
    return found
