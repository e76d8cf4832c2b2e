"""The fleet: clusters with their steps, and what operators do to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters import selectors, words
from clusters.admin.pages import PageAdmin
from clusters.hanging import hanging
from clusters.models import Cluster, Phase, SlurmIdentity, StepStatus
from clusters.reasons import explain
from clusters.services import clusters as services
from clusters.services.review import may_give_up, open_orders_of
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.operations import OperationsAdmin, operations

MOST_EVENTS = 50


def retry(actor: Actor, cluster: Cluster, _sent: Mapping[str, str]) -> str:
    """Look again now."""
    services.retry(actor=actor, cluster=cluster)
    return gettext("A worker looks at %(cluster)s now.") % {"cluster": cluster.name}


def mend(actor: Actor, cluster: Cluster, sent: Mapping[str, str]) -> str:
    """Set right what was looked at."""
    services.mend(actor=actor, cluster=cluster, seen=sent.get("seen", ""))
    return gettext("A worker sets right what drifted at %(cluster)s.") % {"cluster": cluster.name}


def pause(actor: Actor, cluster: Cluster, _sent: Mapping[str, str]) -> str:
    """Leave it alone."""
    services.pause(actor=actor, cluster=cluster)
    return gettext("%(cluster)s is left alone until it is resumed.") % {"cluster": cluster.name}


def resume(actor: Actor, cluster: Cluster, _sent: Mapping[str, str]) -> str:
    """Go on."""
    services.resume(actor=actor, cluster=cluster)
    return gettext("%(cluster)s goes on; deadlines begin anew.") % {"cluster": cluster.name}


def give_up(actor: Actor, cluster: Cluster, sent: Mapping[str, str]) -> str:
    """The build or change failed for good."""
    services.give_up(actor=actor, cluster=cluster, note=sent.get("note", ""))
    if cluster.was_ready:
        text = gettext("The change of %(cluster)s is given up; it goes back to what it was.")
    else:
        text = gettext("%(cluster)s is given up; its owner can remove what was built.")
    return text % {"cluster": cluster.name}


class NeedsAPerson(admin.SimpleListFilter):
    """Stalled, degraded, paused or failed first."""

    title = _("needs a person")
    parameter_name = "needs"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """One choice beside all."""
        return [("1", gettext("Yes"))]

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:  # noqa: ARG002
        """Clusters that nothing brings forward by itself."""
        if self.value() != "1":
            return queryset
        stalled = models.Q(stalled_steps__gt=0)
        return queryset.filter(stalled | models.Q(paused=True) | models.Q(phase=Phase.DEGRADED))


@admin.register(Cluster, site=operations)
class ClusterAdmin(PageAdmin):
    """Every cluster of every tenant."""

    page = "admin/clusters/cluster.html"
    verbs = {"retry": retry, "mend": mend, "pause": pause, "resume": resume, "give-up": give_up}
    list_display = (
        "name",
        "tenant",
        "site",
        "status",
        "reason",
        "stalled",
        "observed_at",
        "next_look",
    )
    list_filter = (NeedsAPerson, "phase", "paused", "site", "tenant")
    search_fields = ("name", "tenant__slug", "tenant__name", "id")
    search_help_text = _("Name, tenant, id")
    list_select_related = ("tenant", "site")
    ordering = ("deleted_at", "-created_at")

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[models.Model]:
        """With the number of steps that wait for a person."""
        waits = models.Q(steps__status__in=[StepStatus.STALLED, StepStatus.DRIFTED])
        stalled = models.Count("steps", filter=waits)
        rows: models.QuerySet[models.Model] = super().get_queryset(request).annotate(stalled_steps=stalled)
        return rows.select_related("tenant", "site")

    @admin.display(description=_("Phase"), ordering="phase")
    def status(self, row: Cluster) -> str:
        """In words, with a pause."""
        phase = row.get_phase_display()
        return gettext("%(phase)s, paused") % {"phase": phase} if row.paused else phase

    @admin.display(description=_("Stalled or drifted"), ordering="stalled_steps")
    def stalled(self, row: Any) -> int:
        """Steps that wait for a person."""
        return int(row.stalled_steps)

    @admin.display(description=_("Next look"), ordering="next_reconcile_at")
    def next_look(self, row: Cluster) -> object:
        """When a worker comes back; nothing: when somebody acts."""
        return row.next_reconcile_at

    def page_context(self, actor: Actor, row: Cluster) -> JSONDict:  # noqa: ARG002  # shown to all operators alike
        """Steps with what was observed, wanted, tried and when it is looked at next."""
        steps = list(row.steps.all())
        drifted = [step for step in steps if step.status == StepStatus.DRIFTED]
        ended = row.phase in {Phase.DELETED, Phase.FAILED}
        return {
            "steps": [
                {
                    "state": step,
                    "title": words.title_of(step.name),
                    "component": words.component_of(step.component),
                    "why": explain(step.reason, step.message),
                }
                for step in steps
            ],
            "waiting": words.waiting_of_steps(steps, inside=True),
            "events": [
                {
                    "event": event,
                    "title": words.title_of(event.step),
                    "why": explain(event.reason, event.message),
                }
                for event in row.step_events.order_by("-id")[:MOST_EVENTS]
            ],
            "differing": [
                {"state": step, "title": words.title_of(step.name), "component": step.component}
                for step in steps
                # while something is made or removed, what is missing is no drift
                if row.wanted and step.differences and step.ready_at is not None
            ],
            "drift_hash": services.drift_hash([one for step in drifted for one in step.differences]),
            "may_mend": row.is_live and any(not step.mend for step in drifted),
            "hanging": hanging(row, steps),
            "orders": open_orders_of(row),
            "pools": row.pools.select_related("flavor").prefetch_related("allocations__machine"),
            "slurm": selectors.slurm_of(row),
            "ports": selectors.ports_of(row),
            "may_retry": not ended,
            "may_pause": not ended and not row.paused,
            "may_resume": row.paused,
            "may_give_up": may_give_up(row),
        }


@admin.register(SlurmIdentity, site=operations)
class IdentityAdmin(OperationsAdmin):
    """Accounts in clusters; they are never given out twice."""

    list_display = ("name", "kind", "person", "cluster", "uid", "gid", "active", "created_at")
    list_filter = ("kind", "active", "cluster__tenant")
    search_fields = ("name", "uid", "membership__user__name", "membership__user__email", "cluster__name")
    search_help_text = _("Account, uid, person, cluster")
    list_select_related = ("cluster", "membership__user")
    ordering = ("-uid",)

    @admin.display(description=_("Person"))
    def person(self, row: SlurmIdentity) -> str:
        """Whose it is."""
        return str(row.membership.user) if row.membership else "-"
