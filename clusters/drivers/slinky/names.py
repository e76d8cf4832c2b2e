"""Names and kinds that Slinky gives, with Helm release "slurm" (slurm-operator 1.2.1)."""

from __future__ import annotations

from typing import Final

from clusters.clients.kube.models import Kind

API: Final = "slinky.slurm.net/v1beta1"
CONTROLLER: Final = Kind(API, "Controller", "controllers")
ACCOUNTING: Final = Kind(API, "Accounting", "accountings")
REST_API: Final = Kind(API, "RestApi", "restapis")
NODE_SET: Final = Kind(API, "NodeSet", "nodesets")
LOGIN_SET: Final = Kind(API, "LoginSet", "loginsets")

NAMESPACE: Final = "slurm"
RELEASE: Final = "slurm"
OPERATOR: Final = "slinky"  # namespace of the operator
LOGIN: Final = "main"

SLURM_KEY, JWT_KEY = "slurm-auth-slurm", "slurm-auth-jwt"
SLURM_KEY_FILE, JWT_KEY_FILE = "slurm.key", "jwt.key"
SSSD, SSSD_FILE = "slurm-sssd-conf", "sssd.conf"
DATABASE, DATABASE_KEY = "slurm-database", "password"
CONFIG, PROLOG = "slurm-config-extra", "slurm-prolog-scripts"  # the chart's own names
SWITCH, SWITCH_FILE = "slurm-nsswitch", "nsswitch.conf"
IDENTITY = "slurm-identity"
HOME = "slurm-home"

SERVICE: Final = "slurm-restapi"  # deploy/rbac/tenant.yaml names it
PORT: Final = 6820

CORDON: Final = "nodeset.slinky.slurm.net/pod-cordon"
COST: Final = "nodeset.slinky.slurm.net/pod-deletion-cost"


def node_set(pool: str) -> str:
    """The NodeSet of a pool."""
    return f"{RELEASE}-worker-{pool}"


def login_set() -> str:
    """The LoginSet."""
    return f"{RELEASE}-login-{LOGIN}"
