"""The kinds of the vCluster Platform's management API that this driver reads or writes."""

from __future__ import annotations

from typing import Final

from clusters.clients.kube.models import Kind

API: Final = "management.loft.sh/v1"
PROJECT: Final = Kind(API, "Project", "projects", namespaced=False)
TEMPLATE: Final = Kind(API, "VirtualClusterTemplate", "virtualclustertemplates", namespaced=False)
INSTANCE: Final = Kind(API, "VirtualClusterInstance", "virtualclusterinstances")
LICENSE: Final = Kind(API, "License", "licenses", namespaced=False)
SELF: Final = Kind(API, "Self", "selves", namespaced=False)
