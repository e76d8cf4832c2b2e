"""What a vCluster Platform has before a tenant comes: a template and a licence; and what it gives him."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from clusters.clients.kube.models import Access, Manifest, Ref
from clusters.drivers.vcluster_platform.kinds import LICENSE, TEMPLATE
from clusters.kube.objects import manifest
from clusters.kube.text import to_yaml
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

NAME = "gpu-slurm"
# as an installation of the Scale tier has it
FEATURES = (
    "vclusters",
    "template-versioning",
    "project-quotas",
    "vcp-distro-private-nodes",
    "private-nodes-vpn",
    "private-nodes-auto-nodes",
    "vcp-distro-embedded-etcd",
)
PARAMETERS: tuple[Mapping[str, Any], ...] = (
    {"variable": "gpuNodes", "label": "GPU nodes", "type": "number", "required": True, "min": 1, "max": 64},
    {
        "variable": "k8sVersion",
        "label": "Kubernetes",
        "options": ["v1.34.1", "v1.35.6"],
        "defaultValue": "v1.35.6",
    },
    {"variable": "apiHost", "label": "API host name", "type": "string", "required": True},
    {"variable": "net.pods", "label": "Pod CIDR", "type": "string", "defaultValue": "10.64.0.0/16"},
    {"variable": "vpn", "label": "VPN", "type": "boolean", "defaultValue": "false"},
)
VALUES = """\
privateNodes:
  enabled: true
  vpn:
    enabled: {{ .Values.vpn }}
  autoNodes:
  - provider: dc1-metal
    static:
    - name: gpu
      quantity: {{ .Values.gpuNodes }}
controlPlane:
  distro: {k8s: {version: {{ .Values.k8sVersion | quote }}}}
  backingStore: {etcd: {embedded: {enabled: true}}}
networking:
  podCIDR: {{ .Values.net.pods | quote }}
"""


def template(
    name: str = NAME,
    parameters: Iterable[Mapping[str, Any]] = PARAMETERS,
    *,
    values: str = VALUES,
    versions: Iterable[str] = ("1.0.0", "1.0.7", "1.1.0"),
) -> Manifest:
    """A template with versions, as section 5.1 of the vendor's examples has it."""
    listed = [dict(one) for one in parameters]
    chart = {"name": "vcluster", "repo": "https://charts.loft.sh", "version": "0.36.1"}
    made = {"helmRelease": {"chart": chart, "values": values}}
    spec = {
        "displayName": "Isolated GPU cluster",
        "parameters": listed,
        "template": made,
        "versions": [{"version": one, "parameters": listed, "template": made} for one in versions],
    }
    return manifest(TEMPLATE, name, {"spec": spec})


def licence(features: Iterable[str] = FEATURES) -> Manifest:
    """A licence with these features active, and one that is only shown."""
    listed = [{"name": name, "status": "active"} for name in features]
    listed.append({"name": "vnode-runtime", "status": "preview"})
    body = {"license": {"modules": [{"name": "vclusters", "features": listed}]}}
    return {**manifest(LICENSE, "license", {}), "status": body}


def install(
    server: KubeServer, *, templates: Iterable[Manifest] = (), features: Iterable[str] = FEATURES
) -> None:
    """Put both there, as the Platform's own people would."""
    for one in (template(), *templates):
        server.client.apply(one, TEMPLATE)
    made = licence(features)
    hands, ref = Hands(server.client), Ref(LICENSE, "license")
    hands.create(LICENSE, {name: value for name, value in made.items() if name != "status"})
    hands.write_status(ref, made["status"], "status")


def kubeconfig(access: Access, *, server: str = "") -> str:
    """A kubeconfig with a client certificate, as the Platform's subresource gives it."""
    user = {
        "client-certificate-data": base64.b64encode(access.certificate_pem).decode(),
        "client-key-data": base64.b64encode(access.key_pem).decode(),
    }
    cluster = {
        "server": server or access.server,
        "certificate-authority-data": base64.b64encode(access.ca_pem).decode(),
    }
    return to_yaml(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "main",
            "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main"}}],
            "clusters": [{"name": "main", "cluster": cluster}],
            "users": [{"name": "main", "user": user}],
        }
    )
