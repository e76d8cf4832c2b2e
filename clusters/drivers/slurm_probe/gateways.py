"""Opens a gateway from what a slurm step reported."""

from __future__ import annotations

from collections.abc import Mapping

from clusters.clients.slurmrest import tokens
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.gateway import SlurmGateway
from portal.lib.errors import TemporaryError


def of(facts: Mapping[str, str], account: str, key: bytes) -> SlurmGateway:
    """Acts as one account. `facts` holds url and api_version. Raises TemporaryError without them."""
    url, version = facts.get("url"), facts.get("api_version")
    if not url or not version:
        raise TemporaryError("SlurmUnknown", "The address of the cluster's Slurm API is not known yet.")
    return RestGateway(url, version, account, lambda: tokens.mint(account, key))
