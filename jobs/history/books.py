"""Opens the accounting of a cluster, in workers only: by an account that looks, or by the administrator's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from clusters.clients.slurmrest import tokens
from clusters.clients.slurmrest.accounting import PATIENCE, RestAccounting, SlurmAccounting
from clusters.models import IdentityKind, SlurmEndpoint, SlurmIdentity
from clusters.services import slurm_access
from portal.lib import crypto
from portal.lib.errors import WrongState


@contextmanager
def books_of(
    endpoint: SlurmEndpoint, kind: IdentityKind = IdentityKind.OBSERVER
) -> Iterator[SlurmAccounting]:
    """The accounting of this cluster. Raises WrongState while there is no Slurm API or no such account."""
    identity = SlurmIdentity.objects.filter(cluster_id=endpoint.cluster_id, kind=kind, active=True).first()
    if identity is None or not endpoint.url or not endpoint.api_version:
        raise WrongState(_("This cluster has no accounting yet."))
    key = crypto.unseal(bytes(endpoint.sealed_jwt_key))
    name = identity.name
    session = slurm_access.session_for(endpoint, timeout=PATIENCE)
    try:
        yield RestAccounting(
            endpoint.url,
            endpoint.api_version,
            name,
            lambda: tokens.mint(name, key),
            PATIENCE,
            session=session,
        )
    finally:
        session.close()
