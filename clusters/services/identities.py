"""Unix accounts in a cluster: one for each member who may submit, one for the portal's own looking."""

from __future__ import annotations

import uuid

from django.db import transaction
from django.db.models import F

from clusters.models import Cluster, IdentityKind, Phase, SlurmIdentity
from clusters.services.unix_ids import next_unix_id
from clusters.services.wake import wake
from tenants.ids import short_name
from tenants.models import Membership
from tenants.rights import RIGHTS, Action


def account_name(cluster: Cluster, key: str) -> str:
    """fh and 12 base32 characters, derived from the cluster's id and whom the account is for."""
    return f"fh{short_name(uuid.uuid5(cluster.id, key))}"


def may_submit(membership: Membership) -> bool:
    """Whether the member needs an account."""
    return membership.ended_at is None and Action.SUBMIT_JOB in RIGHTS[membership.role]


def sync(cluster: Cluster) -> bool:
    """Make the cluster's identities match its tenant's live members. True if something changed.

    Needs an open transaction and a cluster with a gid. An account that is no longer wanted becomes
    inactive; its row, name and uid stay for ever.
    """
    changed = _ensure(cluster, "observer", IdentityKind.OBSERVER, None)
    members = Membership.objects.filter(tenant_id=cluster.tenant_id, ended_at=None).order_by(
        "created_at", "pk"
    )
    wanted = [membership for membership in members if may_submit(membership)]
    for membership in wanted:
        changed |= _ensure(cluster, str(membership.pk), IdentityKind.MEMBER, membership)
    left = SlurmIdentity.objects.filter(cluster=cluster, kind=IdentityKind.MEMBER, active=True)
    gone = left.exclude(membership__in=[membership.pk for membership in wanted]).update(active=False)
    return changed or gone > 0


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
    with transaction.atomic():
        live = (
            Cluster.objects.filter(tenant_id=membership.tenant_id, wanted=True)
            .exclude(phase__in=[Phase.DELETED, Phase.FAILED])
            .order_by("pk")
            .select_for_update(of=("self",))
            .select_related("site")
        )
        for cluster in live:
            if sync(cluster):
                wake(cluster, generation=F("generation") + 1)
