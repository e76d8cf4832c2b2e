"""What tables of jobs and the form above them need: heads that sort, choices, saved views, a selection."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.urls import reverse

from clusters.models import Cluster
from jobs import filters
from jobs.filters import COLUMNS, Filter, usual_columns, write_query
from jobs.listing import Page, add_sets
from jobs.models import Partition
from jobs.services import acts, saved_views
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.models import Membership
from tenants.rights import Action, may

MOST_PEOPLE = 200
NUMBERS = frozenset({"gpus", "cpus", "nodes", "memory", "ran", "limit"})
_SORTS = {"name": ("name", "-name"), "gpus": ("-gpus", "gpus"), "submitted": ("-submitted", "submitted")}


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column; `url` sorts by it, or the other way round, where there is an order."""

    key: str
    label: str
    url: str = ""
    sorted: str = ""  # as aria-sort says it

    @property
    def is_number(self) -> bool:
        """Aligned to the right."""
        return self.key in NUMBERS


def table_context(
    page: Page, wanted: Filter, columns: tuple[str, ...], *, queue: bool = False, sorts: bool = True
) -> JSONDict:
    """The rows and the heads above them."""
    add_sets(page.rows)
    query = write_query(wanted, columns, queue=queue)
    return {
        "page": page,
        "heads": [_head(key, wanted, columns, queue=queue, sorts=sorts) for key in columns],
        "name_head": _head("name", wanted, columns, queue=queue, sorts=sorts),
        "next_url": f"?{query}&after={page.after}".replace("?&", "?") if page.after else "",
    }


def select_context(actor: Actor) -> JSONDict:
    """Whether rows can be ticked: the same for everyone of a role, what may be done is seen then."""
    return {"may_select": may(actor, Action.ACT_ON_OWN_JOB)}


def form_context(
    actor: Actor, wanted: Filter, columns: tuple[str, ...], *, cluster: Cluster | None = None
) -> JSONDict:
    """The choices of the form, and the views that the person saved."""
    everyone = wanted.everyone or cluster is not None
    states = filters.STATE_WORDS.items()
    query = write_query(wanted, columns, queue=cluster is not None)
    partitions = Partition.objects.for_actor(actor)
    if cluster is not None:
        partitions = partitions.filter(cluster=cluster)
    return {
        "states": [
            (name, word) for name, word in states if cluster is None or name in {"running", "pending"}
        ],
        "partitions": sorted(set(partitions.values_list("name", flat=True))),
        "people": people(actor) if everyone else [],
        "gpu_choices": filters.GPUS.items(),
        "sorts": filters.SORTS.items(),
        "columns": [(name, word, name in columns) for name, word in COLUMNS.items()],
        "most_columns": filters.MOST_COLUMNS,
        "more": wanted.more + (columns != usual_columns(everyone=everyone)),
        "query": query,
        "views": saved_views.of_list(actor, cluster, query),
        "selection": _selection(actor, cluster),
        "bare_url": _bare(actor, wanted, cluster),
    }


def people(actor: Actor) -> list[tuple[str, str]]:
    """Members of the tenant by name, for the choice of whose jobs."""
    rows = Membership.objects.for_actor(actor).filter(ended_at=None).select_related("user")
    found = [(str(row.user_id), str(row.user)) for row in rows[:MOST_PEOPLE]]
    return sorted(found, key=lambda one: one[1].casefold())


def _head(key: str, wanted: Filter, columns: tuple[str, ...], *, queue: bool, sorts: bool) -> Head:
    label = str(filters.COLUMNS[key] if key in COLUMNS else filters.NAME)  # once: every cell repeats it
    if not sorts or key not in _SORTS:
        return Head(key, label)
    first, second = _SORTS[key]
    url = write_query(replace(wanted, sort=second if wanted.sort == first else first), columns, queue=queue)
    told = {first: "", second: ""} | {
        one: "descending" if one[0] == "-" else "ascending" for one in (first, second)
    }
    return Head(key, label, f"?{url}", told.get(wanted.sort, ""))


def _selection(actor: Actor, cluster: Cluster | None) -> list[acts.Offer]:
    """What can be done to ticked rows; over several clusters only what every cluster can."""
    if cluster is not None:
        return acts.many_offers(actor, cluster)
    if not may(actor, Action.ACT_ON_OWN_JOB):
        return []
    everywhere = (act for act in acts.ACTS.values() if not act.by_console and act.name != acts.CHANGE)
    return [acts.Offer(act, allowed=True) for act in everywhere]


def _bare(actor: Actor, wanted: Filter, cluster: Cluster | None) -> str:
    """The same list without filters."""
    assert actor.tenant is not None  # noqa: S101  # only within a tenant
    if cluster is not None:
        return reverse("queue", args=[actor.tenant.slug, cluster.pk])
    return reverse("jobs", args=[actor.tenant.slug]) + ("?who=everyone" if wanted.everyone else "")
