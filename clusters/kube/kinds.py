"""Kinds of Kubernetes itself; vendors' kinds stand in their drivers."""

from __future__ import annotations

from typing import Final

from clusters.clients.kube.models import Kind

NAMESPACE: Final = Kind("v1", "Namespace", "namespaces", namespaced=False)
NODE: Final = Kind("v1", "Node", "nodes", namespaced=False)
SECRET: Final = Kind("v1", "Secret", "secrets")
CONFIG_MAP: Final = Kind("v1", "ConfigMap", "configmaps")
SERVICE: Final = Kind("v1", "Service", "services")
SERVICE_ACCOUNT: Final = Kind("v1", "ServiceAccount", "serviceaccounts")
POD: Final = Kind("v1", "Pod", "pods")
CLAIM: Final = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
DEPLOYMENT: Final = Kind("apps/v1", "Deployment", "deployments")
STATEFUL_SET: Final = Kind("apps/v1", "StatefulSet", "statefulsets")
DAEMON_SET: Final = Kind("apps/v1", "DaemonSet", "daemonsets")
ROLE: Final = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
ROLE_BINDING: Final = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE: Final = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING: Final = Kind(
    "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
RUNTIME_CLASS: Final = Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", namespaced=False)
NETWORK_POLICY: Final = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
CRD: Final = Kind(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
