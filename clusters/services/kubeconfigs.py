"""Kubeconfigs of members: issued by the cluster's own API server, revoked one by one, never stored."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from clusters import hints, live, outside
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from clusters.kube import accounts, tenant
from clusters.models import (
    Cluster,
    ClusterSecret,
    KubeAccount,
    KubeconfigGrant,
    KubeRole,
    KubeSurvey,
    Phase,
)
from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, OutsideError, WrongState
from tenants.actor import Actor
from tenants.commands import command
from tenants.ids import short_name
from tenants.live.topics import Topic, publish
from tenants.models import Membership, Role, Tenant
from tenants.rights import RIGHTS, Action, may, require

ROLES = {
    Role.VIEWER: KubeRole.VIEW,
    Role.MEMBER: KubeRole.EDIT,
    Role.ADMIN: KubeRole.ADMIN,
    Role.OWNER: KubeRole.ADMIN,
}
HOURS = (1, 8, 24, 168)
MOST_AT_ONCE = 20  # of one member in one cluster
LOOK_AROUND = dt.timedelta(minutes=10)
NEW_NAMESPACES = dt.timedelta(minutes=1)  # until who may edit may do so there too
UNCONFIRMED = dt.timedelta(minutes=2)
LONGEST_BACK_OFF = 300  # seconds


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """A file that exists only in the answer to who asked for it."""

    grant: KubeconfigGrant
    content: bytes = field(repr=False)

    @property
    def filename(self) -> str:
        """A name for the download; the cluster's name is plain by our own rules."""
        return f"{self.grant.cluster.name}.kubeconfig.yaml"


def issue(*, actor: Actor, cluster: Cluster, hours: int) -> Kubeconfig:
    """A kubeconfig with the member's own role, for some hours.

    1. Note the grant. 2. Have the API server make account and token. 3. Note the end that it gave, unless
    the grant was taken back meanwhile. What a crash leaves in between is ended by the scan.
    Raises NotAllowed, WrongState, BadInput and what the API server's client raises.
    """
    require(actor, Action.USE_KUBERNETES)
    _require_usable(cluster)
    if hours not in HOURS:
        raise BadInput(fields={"hours": _("Choose one of the lifetimes that are offered.")})
    access = outside.access_to(cluster)
    grant = _begin(actor, cluster, outside.server_of(access))
    try:
        issued = _ask(access, grant, seconds=hours * 3600)
        _confirm(actor, grant, issued.expires_at)
    except (OutsideError, WrongState):
        _end(grant)
        raise
    content = accounts.kubeconfig(access, cluster=cluster.name, user=grant.account.name, issued=issued)
    return Kubeconfig(grant, content)


def revoke(*, actor: Actor, grant: KubeconfigGrant) -> bool:
    """Take a kubeconfig back: one's own, or anyone's for who manages people.

    False if the API server did not answer: then a worker goes on trying. Raises NotAllowed and WrongState.
    """
    require_revocable(actor=actor, grant=grant)
    with command("kubeconfig.revoked", actor=actor, target=grant.cluster) as done:
        done.publish(_topic(grant.cluster))
        done.detail = {
            "kubeconfig": str(grant.pk),
            "service_account": grant.account.name,
            "owner": str(grant.account.membership.user),
        }
        hit = KubeconfigGrant.objects.filter(pk=grant.pk, revoked_at=None).update(revoked_at=clock.now())
        if not hit:
            raise WrongState(_("This kubeconfig is revoked already."))
        KubeAccount.objects.filter(pk=grant.account_id).update(due_at=clock.now(), attempts=0)
    try:
        follow(grant.account_id)
    except (OutsideError, WrongState):
        return False
    return True


def require_revocable(*, actor: Actor, grant: KubeconfigGrant) -> None:
    """Raises NotAllowed for another's, unless the actor manages people; WrongState when revoked."""
    require(actor, Action.USE_KUBERNETES)
    if not is_own(actor, grant) and not may(actor, Action.MANAGE_PEOPLE):
        raise NotAllowed(_("This kubeconfig belongs to somebody else."), hint=_("Ask an admin to revoke it."))
    if grant.revoked_at is not None:
        raise WrongState(_("This kubeconfig is revoked already."))


def is_own(actor: Actor, grant: KubeconfigGrant) -> bool:
    """Whether the kubeconfig was issued for the actor."""
    return actor.user is not None and grant.account.membership.user_id == actor.user.pk


def follow(account_id: int) -> None:
    """Bring the API server to what is granted now: rights, revoked tokens, and accounts of who left.

    Raises what the client raises, after noting when to try again.
    """
    account = KubeAccount.objects.select_related(
        "cluster__site", "cluster__tenant", "membership__user", "membership__tenant"
    ).get(pk=account_id)
    due = account.due_at
    if account.cluster.deleted_at is not None or not account.cluster.wanted:
        KubeAccount.objects.filter(pk=account.pk).update(due_at=None)  # all of it goes with the cluster
        return
    try:
        with outside.kube_for(outside.access_to(account.cluster)) as client:
            if role := entitled(account.membership):
                _follow_working(client, account, role)
            else:
                accounts.remove(client, name=account.name, labels=_labels(account.cluster))
                _gone(KubeconfigGrant.objects.filter(account=account))
                if account.role == KubeRole.ADMIN:
                    _look_around(client, account.cluster)  # what they made inside outlives them
    except (OutsideError, WrongState):
        wait = min(LONGEST_BACK_OFF, 2 ** min(account.attempts + 1, 9))
        KubeAccount.objects.filter(pk=account.pk).update(
            due_at=clock.now() + dt.timedelta(seconds=wait), attempts=account.attempts + 1
        )
        raise
    rows = KubeAccount.objects.filter(pk=account.pk)
    rows.update(followed_at=clock.now())
    rows.filter(due_at=due).update(due_at=None, attempts=0)


def due(now: dt.datetime) -> list[int]:
    """Accounts to follow: changed, with kubeconfigs that ended, or not looked around for a while."""
    ended = Q(expires_at__lte=now) | Q(expires_at=None, asked_at__lt=now - UNCONFIRMED)
    old = Q(cluster__kube_survey=None) | Q(cluster__kube_survey__seen_at__lt=now - LOOK_AROUND)
    live = KubeconfigGrant.objects.filter(revoked_at=None, expires_at__gt=now)
    stale = Q(followed_at=None) | Q(followed_at__lt=now - NEW_NAMESPACES)
    over = KubeconfigGrant.objects.filter(ended, gone_at=None)
    rows = KubeAccount.objects.filter(cluster__wanted=True, cluster__deleted_at=None).filter(
        Q(due_at__lte=now)
        | Q(due_at=None, pk__in=over.values("account"))
        | Q(old, due_at=None, role=KubeRole.ADMIN, pk__in=live.values("account"))
        | Q(stale, due_at=None, role=KubeRole.EDIT, pk__in=live.values("account"))
    )
    return list(rows.order_by("due_at", "pk").values_list("pk", flat=True))


def entitled(membership: Membership) -> KubeRole | None:
    """The role that a member has in the API server; None for who left, is suspended, or may not."""
    may_use = membership.is_working and Action.USE_KUBERNETES in RIGHTS[membership.role]
    return ROLES.get(Role(membership.role)) if may_use else None


def cluster_gone(cluster: Cluster) -> None:
    """Called when the API server was seen gone: with it went every account and token."""
    _gone(KubeconfigGrant.objects.filter(cluster=cluster))
    KubeAccount.objects.filter(cluster=cluster).update(due_at=None)
    ClusterSecret.objects.filter(cluster=cluster, name=tenant.KEPT_AS).delete()


def membership_changed(membership: Membership) -> None:
    """Called inside the command that changed a membership: the API servers follow soon."""
    _changed(Q(membership=membership))


def tenant_changed(changed: Tenant) -> None:
    """Called inside the command that suspended or resumed a tenant: as above."""
    _changed(Q(membership__tenant=changed))


def _require_usable(cluster: Cluster) -> None:
    if not cluster.wanted or cluster.phase in {Phase.DELETING, Phase.DELETED, Phase.FAILED}:
        raise WrongState(_("This cluster is being removed or is gone."))


def _begin(actor: Actor, cluster: Cluster, server: str) -> KubeconfigGrant:
    membership = (
        Membership.objects.working()
        .select_related("user", "tenant")
        .get(tenant_id=cluster.tenant_id, user=actor.user)
    )
    role = entitled(membership)
    if role is None:
        raise NotAllowed(_("Your role has no kubeconfig."))
    account, _made = KubeAccount.objects.get_or_create(
        cluster=cluster,
        membership=membership,
        defaults={"name": f"fh{short_name(uuid.uuid5(cluster.id, f'kube {membership.pk}'))}", "role": role},
    )
    now = clock.now()
    live = KubeconfigGrant.objects.filter(account=account, revoked_at=None, expires_at__gt=now).count()
    if live >= MOST_AT_ONCE:
        raise WrongState(
            _("You have %(count)s kubeconfigs of this cluster.") % {"count": live},
            hint=_("Revoke one that you do not need."),
        )
    if account.role != role:
        KubeAccount.objects.filter(pk=account.pk).update(role=role)
        account.role = role
    account.membership = membership
    return KubeconfigGrant.objects.create(cluster=cluster, account=account, role=role, server=server)


def _ask(access: Access, grant: KubeconfigGrant, *, seconds: int) -> accounts.Issued:
    labels, name = _labels(grant.cluster), grant.account.name
    with outside.kube_for(access) as client:
        accounts.ensure(client, name=name, role=grant.role, labels=labels)
        issued = accounts.issue(client, name=name, secret=grant.secret, seconds=seconds, labels=labels)
        if grant.role == KubeRole.ADMIN:
            _look_around(client, grant.cluster)
    KubeAccount.objects.filter(pk=grant.account_id).update(followed_at=clock.now())
    return issued


def _confirm(actor: Actor, grant: KubeconfigGrant, expires_at: dt.datetime) -> None:
    with command("kubeconfig.issued", actor=actor, target=grant.cluster) as done:
        done.publish(_topic(grant.cluster))
        done.detail = {
            "kubeconfig": str(grant.pk),
            "service_account": grant.account.name,
            "kubernetes_role": grant.role,
            "expires_at": expires_at.isoformat(),
        }
        hit = KubeconfigGrant.objects.filter(pk=grant.pk, revoked_at=None).update(expires_at=expires_at)
        if not hit:
            raise WrongState(_("Your membership changed meanwhile. No kubeconfig was issued."))
    grant.expires_at = expires_at


def _end(grant: KubeconfigGrant) -> None:
    now = clock.now()
    KubeconfigGrant.objects.filter(pk=grant.pk, revoked_at=None).update(revoked_at=now)
    KubeAccount.objects.filter(pk=grant.account_id).update(due_at=now)


def _follow_working(client: KubeClient, account: KubeAccount, role: KubeRole) -> None:
    labels = _labels(account.cluster)
    if account.role != role or role == KubeRole.EDIT:
        accounts.ensure(client, name=account.name, role=role, labels=labels)
        KubeAccount.objects.filter(pk=account.pk).update(role=role)
    now = clock.now()
    over = (
        Q(revoked_at__lte=now) | Q(expires_at__lte=now) | Q(expires_at=None, asked_at__lt=now - UNCONFIRMED)
    )
    for grant in KubeconfigGrant.objects.filter(over, account=account, gone_at=None):
        accounts.revoke(client, secret=grant.secret)
        _gone(KubeconfigGrant.objects.filter(pk=grant.pk))
    if role == KubeRole.ADMIN:
        _look_around(client, account.cluster)


def _look_around(client: KubeClient, cluster: Cluster) -> None:
    found = accounts.survey(client)
    KubeSurvey.objects.update_or_create(
        cluster=cluster,
        defaults={
            "seen_at": clock.now(),
            "accounts": list(found.accounts),
            "bindings": list(found.bindings),
        },
    )
    publish(_topic(cluster))


def _gone(grants: QuerySet[KubeconfigGrant]) -> None:
    now = clock.now()
    changed = grants.filter(Q(revoked_at=None) | Q(gone_at=None))
    where = list(changed.order_by().values_list("cluster__tenant_id", "cluster_id").distinct())
    grants.filter(revoked_at=None).update(revoked_at=now)
    grants.filter(gone_at=None).update(gone_at=now)
    for place in where:
        publish(live.access(*place))


def _changed(whose: Q) -> None:
    now = clock.now()
    rows = KubeAccount.objects.filter(whose, cluster__deleted_at=None)
    for account in rows.select_related("cluster", "membership__user", "membership__tenant"):
        if entitled(account.membership) is None:
            KubeconfigGrant.objects.filter(account=account, revoked_at=None).update(revoked_at=now)
            publish(_topic(account.cluster))
        KubeAccount.objects.filter(pk=account.pk).update(due_at=now, attempts=0)
        hints.kube_soon(account)


def _topic(cluster: Cluster) -> Topic:
    return live.access(cluster.tenant_id, cluster.pk)


def _labels(cluster: Cluster) -> dict[str, str]:
    return {"freehold.io/installation": settings.INSTALLATION, "freehold.io/cluster": str(cluster.pk)}
