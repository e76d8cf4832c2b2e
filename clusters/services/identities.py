"""Unix accounts in a cluster: one for each member who may submit, one for the portal's own looking."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.db import transaction
from django.db.models import F

from clusters.models import Cluster, IdentityKind, Phase, Site, SlurmIdentity, Stack
from clusters.services.unix_ids import next_unix_id
from clusters.services.wake import wake
from tenants.hooks import Account
from tenants.ids import short_name
from tenants.models import Membership, Tenant
from tenants.rights import RIGHTS, Action


def account_name(cluster: Cluster, key: str) -> str:
    """fh and 12 base32 characters, derived from the cluster's id and whom the account is for."""
    return f"fh{short_name(uuid.uuid5(cluster.id, key))}"


def may_submit(membership: Membership) -> bool:
    """Whether the member needs an account. `user` and `tenant` should be selected along."""
    return membership.is_working and Action.SUBMIT_JOB in RIGHTS[membership.role]


def sync(cluster: Cluster) -> bool:
    """Make the cluster's identities match its tenant's working members. True if something changed.

    Needs an open transaction and a cluster with a gid. An account that is no longer wanted becomes
    inactive; its row, name and uid stay for ever.
    """
    changed = False
    for kind in kinds_of(cluster.site):
        changed |= _ensure(cluster, str(kind), kind, None)
    wanted = wanted_for(cluster.tenant_id)
    for membership in wanted:
        changed |= _ensure(cluster, str(membership.pk), IdentityKind.MEMBER, membership)
    left = SlurmIdentity.objects.filter(cluster=cluster, kind=IdentityKind.MEMBER, active=True)
    gone = left.exclude(membership__in=[membership.pk for membership in wanted]).update(active=False)
    return changed or gone > 0


def kinds_of(site: Site) -> tuple[IdentityKind, ...]:
    """Our own accounts: one that looks, and with accounting one for workers to administer it."""
    more = (IdentityKind.ADMINISTRATOR,) if site.drivers.get("accounting") else ()
    return (IdentityKind.OBSERVER, *more)


def wanted_for(tenant_id: uuid.UUID) -> list[Membership]:
    """The members who have an account in each of their tenant's Slurm clusters, those of long first."""
    members = (
        Membership.objects.working()
        .select_related("user", "tenant")
        .filter(tenant_id=tenant_id)
        .order_by("created_at", "pk")
    )
    return [membership for membership in members if may_submit(membership)]


def _ensure(cluster: Cluster, key: str, kind: IdentityKind, membership: Membership | None) -> bool:
    known = SlurmIdentity.objects.filter(cluster=cluster, kind=kind, membership=membership).first()
    if known is None:
        SlurmIdentity.objects.create(
            cluster=cluster,
            membership=membership,
            kind=kind,
            name=account_name(cluster, key),
            uid=next_unix_id(),
            gid=cluster.gid or 0,
        )
        return True
    if not known.active:
        known.active = True
        known.save(update_fields=["active"])
        return True
    return False


def membership_changed(membership: Membership) -> None:
    """Called inside the command that changed a membership: every live cluster gets the new accounts soon."""
    _sync_clusters(membership.tenant_id)


def keys_changed(membership: Membership) -> None:
    """Called inside the command that set other SSH keys: live clusters publish them soon."""
    if SlurmIdentity.objects.filter(membership=membership, active=True).exists():
        _sync_clusters(membership.tenant_id, also=True)


def tenant_changed(tenant: Tenant) -> None:
    """Called inside the command that suspended or resumed a tenant: as above."""
    _sync_clusters(tenant.pk)


def accounts_of(memberships: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Account]]:
    """The working accounts of members in clusters that are there, by membership."""
    rows = (
        SlurmIdentity.objects.filter(membership__in=memberships, active=True, cluster__deleted_at=None)
        .order_by("cluster__name", "pk")
        .values_list("membership", "cluster__name", "name")
    )
    found: dict[uuid.UUID, list[Account]] = {}
    for key, cluster, name in rows:
        found.setdefault(key, []).append(Account(cluster, name))
    return found


def _sync_clusters(tenant_id: uuid.UUID, *, also: bool = False) -> None:
    """`also`: wake them where no account changed too."""
    with transaction.atomic():
        live = (
            Cluster.objects.filter(tenant_id=tenant_id, wanted=True, stack=Stack.SLURM)
            .exclude(phase__in=[Phase.DELETED, Phase.FAILED])
            .order_by("pk")
            .select_for_update(of=("self",))
            .select_related("site")
        )
        for cluster in live:
            if sync(cluster) or also:
                wake(cluster, generation=F("generation") + 1)
