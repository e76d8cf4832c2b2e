"""The GPU Operator as a release of NVIDIA's chart, or as the policy and configurations that it follows.

Field names: ClusterPolicy of 26.7.0, and the chart's values of the same release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from clusters.clients.kube.models import Kind
from clusters.drivers.gpu_operator import ready
from clusters.drivers.gpu_operator.settings import OFF, GpuSettings
from clusters.kube import objects
from clusters.kube.objects import Wanted
from clusters.kube.renderers.release import Release

POLICY: Final = Kind("nvidia.com/v1", "ClusterPolicy", "clusterpolicies", namespaced=False)
NAME, NAMESPACE = "gpu-operator", "gpu-operator"
POLICY_NAME = "cluster-policy"  # the chart's own name
MIG, PLUGIN = "freehold-mig", "freehold-device-plugin"
EXCLUSIVE = "exclusive"
TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def release(settings: GpuSettings) -> Release:
    """NVIDIA's chart; it brings Node Feature Discovery along."""
    values: dict[str, Any] = {
        "driver": {"enabled": settings.driver},
        "mig": {"strategy": "mixed"},
        "dcgm": {"enabled": True},
        "daemonsets": {"tolerations": TOLERATIONS},
        "migManager": {"config": _chart_config(MIG, OFF, mig_files(settings))},
        "devicePlugin": {"config": _chart_config(PLUGIN, EXCLUSIVE, plugin_files(settings))},
    }
    return Release(NAME, NAMESPACE, NAME, settings.repo, settings.version, values)


def objects_of(settings: GpuSettings) -> tuple[Wanted, ...]:
    """The same without a chart, where the operator is there already."""
    return (
        objects.config_map(MIG, mig_files(settings), namespace=NAMESPACE),
        objects.config_map(PLUGIN, plugin_files(settings), namespace=NAMESPACE),
        _policy(settings),
    )


def mig_files(settings: GpuSettings) -> dict[str, str]:
    """The site's profiles, and the one without any division."""
    profiles = {OFF: [{"devices": "all", "mig-enabled": False}], **settings.mig_profiles}
    return {"config.yaml": _yaml({"version": "v1", "mig-configs": profiles})}


def plugin_files(settings: GpuSettings) -> dict[str, str]:
    """A configuration for whole GPUs, and one for each number of slices.

    Slices have a resource of their own name, and a pod gets one of them: more would give it no more.
    """
    found = {EXCLUSIVE: _yaml({"version": "v1"})}
    for count in sorted({one.slices for one in settings.sharing.values() if one.slices}):
        slicing = {
            "renameByDefault": True,
            "failRequestsGreaterThanOne": True,
            "resources": [{"name": "nvidia.com/gpu", "replicas": count}],
        }
        found[slices(count)] = _yaml({"version": "v1", "sharing": {"timeSlicing": slicing}})
    return found


def slices(count: int) -> str:
    """The name of a configuration."""
    return f"slices-{count}"


def node_labels(settings: GpuSettings, flavor: str) -> dict[str, str]:
    """By which a node of the flavor follows its configurations."""
    sharing = settings.sharing.get(flavor)
    return {
        "nvidia.com/mig.config": sharing.mig if sharing and sharing.mig else OFF,
        "nvidia.com/device-plugin.config": slices(sharing.slices)
        if sharing and sharing.slices
        else EXCLUSIVE,
    }


def _policy(settings: GpuSettings) -> Wanted:
    on = {"enabled": True}
    spec: dict[str, Any] = {
        "operator": {"defaultRuntime": "containerd"},
        "daemonsets": {"tolerations": TOLERATIONS},
        "driver": {"enabled": settings.driver},
        "toolkit": on,
        "dcgm": on,
        "dcgmExporter": on,
        "gfd": on,
        "nodeStatusExporter": on,
        "mig": {"strategy": "mixed"},
        "migManager": {**on, "config": {"name": MIG, "default": OFF}},
        "devicePlugin": {**on, "config": {"name": PLUGIN, "default": EXCLUSIVE}},
    }
    made = objects.manifest(POLICY, POLICY_NAME, {"spec": spec})
    return Wanted(POLICY, made, ready=ready.policy)


def _chart_config(name: str, default: str, data: Mapping[str, str]) -> dict[str, Any]:
    return {"create": True, "name": name, "default": default, "data": dict(data)}


def _yaml(content: Mapping[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False)
