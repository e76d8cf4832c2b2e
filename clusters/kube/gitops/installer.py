"""Renders releases of charts for the controller of a site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from clusters.clients.kube.models import Kind, Manifest
from clusters.kube import kinds, objects
from clusters.kube.gitops.settings import APPLICATION_SET, FLUX, GitOps
from clusters.kube.objects import READY, Readiness, Wanted, condition_of
from clusters.kube.renderers import argo, flux
from clusters.kube.renderers.release import Release
from clusters.kube.sinks import Scope
from clusters.provisioning.steps import ClusterSpec

SET: Final = Kind("argoproj.io/v1alpha1", "ApplicationSet", "applicationsets")


class Installer:
    """One cluster's releases at one site."""

    def __init__(self, gitops: GitOps) -> None:
        self._gitops = gitops

    def scopes(self) -> tuple[Scope, ...]:
        """Where a step that installs has objects."""
        kinds_used: tuple[Kind, ...] = (argo.APPLICATION,)
        if self._gitops.controller == FLUX:
            kinds_used = (flux.OCI, flux.CLASSIC, flux.RELEASE)
        elif self._gitops.controller == APPLICATION_SET:
            kinds_used = (SET,)
        return tuple(Scope(kind, self._gitops.namespace) for kind in kinds_used)

    def install(self, spec: ClusterSpec, step: str, releases: Sequence[Release]) -> tuple[Wanted, ...]:
        """The objects that let the controller install these, in this order where it can wait."""
        if self._gitops.controller == FLUX:
            return self._flux(spec, releases)
        if self._gitops.controller == APPLICATION_SET:
            return (self._set(spec, step, releases),)
        return tuple(argo.application(release, self.target(spec)) for release in releases)

    def target(self, spec: ClusterSpec) -> argo.Target:
        """The cluster as Argo CD knows it; the server is read from the cluster Secret of this name."""
        return argo.Target(self._gitops.namespace, spec.name, "", spec.name)

    def _flux(self, spec: ClusterSpec, releases: Sequence[Release]) -> tuple[Wanted, ...]:
        target = flux.Target(self._gitops.namespace, spec.name, kubeconfig=kubeconfig_name(spec))
        found: list[Wanted] = []
        for index, release in enumerate(releases):
            before = [releases[index - 1].name] if index else []
            found += flux.release(release, target, depends_on=before)
        return tuple(found)

    def _set(self, spec: ClusterSpec, step: str, releases: Sequence[Release]) -> Wanted:
        """One ApplicationSet, whose Applications are made and changed by it and never deleted.

        A failed listing of clusters once deleted every generated Application (argo-cd#18480): so this one
        lists its elements itself, and what it installed stays when it goes.
        """
        name = f"{spec.name}-{step}"
        body = {
            "spec": {
                "goTemplate": True,
                "goTemplateOptions": ["missingkey=error"],
                "generators": [{"list": {"elements": [_element(release) for release in releases]}}],
                "syncPolicy": {"applicationsSync": "create-update", "preserveResourcesOnDeletion": True},
                "template": {
                    "metadata": {"name": f"{spec.name}-{{{{ .app }}}}"},
                    "spec": {
                        "project": spec.name,
                        "destination": {"name": spec.name, "namespace": "{{ .namespace }}"},
                        "source": {
                            "repoURL": "{{ .repo }}",
                            "path": "{{ .path }}",
                            "chart": "{{ .chart }}",
                            "targetRevision": "{{ .revision }}",
                            "helm": {"releaseName": "{{ .app }}", "values": "{{ .values }}"},
                        },
                        "syncPolicy": argo.SYNC,
                    },
                },
            }
        }
        made = objects.manifest(SET, name, body, namespace=self._gitops.namespace)
        wanted = tuple(f"{spec.name}-{release.name}" for release in releases)
        return Wanted(SET, made, ready=lambda found: _all_synced(found, wanted))


def kubeconfig_name(spec: ClusterSpec) -> str:
    """The Secret by which Flux reaches the cluster."""
    return f"{spec.name}-kubeconfig"


def secret_scope(gitops: GitOps) -> Scope:
    """Where the controller's credentials stand."""
    return Scope(kinds.SECRET, gitops.namespace)


def _element(release: Release) -> dict[str, str]:
    values = yaml.safe_dump(_plain(release.values), sort_keys=False)
    return {
        "app": release.name,
        "namespace": release.namespace,
        "repo": release.oci_url if release.is_oci else release.repo,
        "path": "." if release.is_oci else "",
        "chart": "" if release.is_oci else release.chart,
        "revision": release.version,
        "values": values,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(below) for name, below in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _all_synced(found: Manifest, wanted: Sequence[str]) -> Readiness:
    """Every Application is there and synced with what Argo CD calls healthy; not whether that works."""
    name = found["metadata"]["name"]
    trouble = condition_of(found, "ErrorOccurred")
    if trouble is not None and trouble.get("status") == "True":
        return Readiness(False, "ApplicationSetError", f"{name}: {trouble.get('message', '')}"[:300])
    told = {one.get("name"): one for one in (found.get("status") or {}).get("resources") or ()}
    for app in wanted:
        one = told.get(app) or {}
        health = (one.get("health") or {}).get("status")
        if one.get("status") != "Synced" or health != "Healthy":
            return Readiness(
                False, "NotSynced", f"Argo CD has not installed {app} yet ({health or 'unknown'})."
            )
    return READY
