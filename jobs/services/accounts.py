"""As whom a person submits in a cluster, and whether the cluster takes jobs at all."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db.models import F, OuterRef, Subquery
from django.utils.translation import gettext as _

from clusters.models import Cluster, Phase, SlurmIdentity, StepState
from jobs.rules.view import RulesView, recent_rules, rules_of
from jobs.services.requests import home_in
from portal.lib.errors import WrongState
from tenants.actor import Actor

_FACTS = StepState.objects.filter(cluster_id=OuterRef("cluster_id"), name="identity").values("facts")[:1]
_ACCOUNTS = SlurmIdentity.objects.filter(active=True, membership__ended_at=None)
_WITH_CLUSTER = _ACCOUNTS.annotate(facts=Subquery(_FACTS), seen_at=F("cluster__slurm__observed_at"))


@dataclass(frozen=True, slots=True)
class Account:
    """An account that works, with what one query tells of its cluster."""

    identity: SlurmIdentity
    home: str
    seen_at: dt.datetime | None  # when the cluster was looked at last

    @property
    def rules(self) -> RulesView | None:
        """What accounting allows it, read at most a few seconds ago."""
        return recent_rules(self.identity.cluster, self.identity.name)


def account_of(actor: Actor, cluster: Cluster) -> Account:
    """The account as which the actor submits. Raises WrongState when there is none that works."""
    _require_open(cluster)
    identity = _WITH_CLUSTER.filter(cluster=cluster, membership__user=actor.user).first()
    if identity is None:
        raise _not_made_yet()
    identity.cluster = cluster
    return Account(identity, home_in(identity.facts, identity.name), identity.seen_at)


def identity_of(actor: Actor, cluster: Cluster) -> SlurmIdentity:
    """The same before anything was typed, so that a person hears of it in time."""
    _require_open(cluster)
    identity = _ACCOUNTS.filter(cluster=cluster, membership__user=actor.user).first()
    if identity is None:
        raise _not_made_yet()
    return identity


def rules_for(actor: Actor, cluster: Cluster) -> RulesView | None:
    """What accounting allows the actor's account; None where there is no account yet."""
    try:
        return rules_of(cluster, identity_of(actor, cluster).name)
    except WrongState:  # told at the submit
        return None


def _not_made_yet() -> WrongState:
    return WrongState(
        _("Your account in this cluster is still being made."), hint=_("Try again in a few seconds.")
    )


def _require_open(cluster: Cluster) -> None:
    if cluster.phase not in {Phase.READY, Phase.DEGRADED} and cluster.ready_at is None:
        raise WrongState(_("This cluster is not ready: %(phase)s.") % {"phase": cluster.get_phase_display()})
    if not cluster.wanted:
        raise WrongState(_("This cluster is being removed and takes no more jobs."))
    if cluster.terminate_at is not None:
        end = f"{cluster.terminate_at:%Y-%m-%d %H:%M} UTC"
        raise WrongState(
            _("This cluster takes no new jobs: it is to be removed at %(time)s.") % {"time": end},
            hint=_("Jobs that run may end. An owner or admin of your tenant can call the removal off."),
        )
