"""Tries the cluster's key at slurmrestds of other tenants: none may believe a token that it signed.

The token is made out to an account that the other Slurm knows, as somebody with this cluster's key would
make it; the same token signed with the other's own key is accepted there, so nothing but the key decides.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Final

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from clusters.clients.slurmrest import errors, tokens
from clusters.clients.slurmrest.client import RestGateway
from clusters.drivers.isolation import finding
from clusters.drivers.isolation.around import Neighbour, SlurmDoor
from clusters.drivers.isolation.finding import Finding
from portal.lib.errors import OutsideError
from portal.lib.http import Outside
from portal.lib.tls import trusting

TIMEOUT = 5.0
LIFETIME = dt.timedelta(seconds=30)  # whoever reads it at another server has little of it
REFUSED: Final = finding.passed("another tenant's Slurm refused a token signed with this cluster's key")
TAKEN = "another tenant's Slurm took a token signed with this cluster's key"


def check(own: SlurmDoor, access: Access | None, others: Sequence[Neighbour], *, until: float) -> Finding:
    """Try it at these, as many as there is time for. `access` is the way to the cluster's own API server."""
    doors = [(one.name, one.slurm, one.access) for one in others if one.slurm is not None]
    if not doors:
        return finding.unchecked(finding.NO_OTHER)
    try:
        _ask(own, access, own.key)
    except OutsideError:
        return finding.unchecked(finding.OWN_SILENT, again=True)
    tries = [(name, partial(_is_taken, door, way, own.key)) for name, door, way in doors]
    refused, took = finding.tally(tries, until=until)
    if took:
        hint = f"Slurm of {', '.join(took)} took a token signed with this cluster's key: each needs its own."
        return finding.failed("TokenNotRefused", TAKEN, hint)
    return REFUSED if refused else finding.unchecked(finding.SILENT, again=True)


def _is_taken(door: SlurmDoor, way: Access | None, key: bytes) -> bool:
    """Whether Slurm believes this key. Its own is tried first, so that only the key differs."""
    _ask(door, way, door.key)
    try:
        _ask(door, way, key)
    except errors.TokenRefused:
        return False
    return True


def _ask(door: SlurmDoor, way: Access | None, key: bytes) -> None:
    """A cheap look that Slurm gives to no stranger. Raises TokenRefused, or another OutsideError."""
    with closing(_session(door, way)) as session:
        RestGateway(
            door.url,
            door.api_version,
            door.account,
            lambda: tokens.mint(door.account, key, lifetime=LIFETIME),
            TIMEOUT,
            session=session,
        ).diag()


def _session(door: SlurmDoor, way: Access | None) -> Outside:
    if way is not None and door.url.startswith(f"{way.server}{way.prefix}/api/"):
        return KubeClient(way, timeout=TIMEOUT).through(door.url, timeout=TIMEOUT)
    return Outside(door.url, timeout=TIMEOUT, tls=trusting(door.authorities) if door.authorities else None)
