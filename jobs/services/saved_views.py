"""Views that a member saved: of the own list of jobs or of a cluster's queue, for that member alone."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from clusters.models import Cluster
from jobs.filters import read_columns, read_filter, write_query
from jobs.models import SavedView
from jobs.parsing.names import parse_line
from jobs.parsing.refusal import Refusal
from portal.lib.errors import BadInput, NotAllowed, WrongState
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import Membership
from tenants.rights import Action, require
from tenants.scoping import TenantQuerySet, get_visible

LONGEST_NAME = 60
MOST_VIEWS = 50  # of one member


@dataclass(frozen=True, slots=True)
class Link:
    """A view as a list offers it."""

    name: str
    url: str
    is_current: bool


def own_views(actor: Actor) -> TenantQuerySet[SavedView]:
    """The actor's, by name."""
    rows = SavedView.objects.for_actor(actor).filter(user=actor.user)
    return rows.select_related("cluster").order_by("name", "pk")


def own_view(actor: Actor, key: object) -> SavedView:
    """One of the actor's. Raises NotVisible, and NotAllowed for another's."""
    found = get_visible(SavedView.objects.select_related("cluster"), actor, key)
    if actor.user is None or found.user_id != actor.user.pk:
        raise NotAllowed(_("Only the person who saved a view can change it."))
    return found


def address_of(actor: Actor, view: SavedView) -> str:
    """Where it opens."""
    assert actor.tenant is not None  # noqa: S101  # only within a tenant
    slug = actor.tenant.slug
    path = reverse("queue", args=[slug, view.cluster_id]) if view.cluster_id else reverse("jobs", args=[slug])
    return f"{path}?{view.query}" if view.query else path


def of_list(actor: Actor, cluster: Cluster | None, query: str) -> list[Link]:
    """Those of the list of jobs, or of this cluster's queue; the one that is shown is current."""
    key = cluster.pk if cluster else None
    return [
        Link(view.name, address_of(actor, view), view.query == query)
        for view in own_views(actor)
        if view.cluster_id == key
    ]


def save_view(*, actor: Actor, name: str, query: str, cluster: Cluster | None = None) -> SavedView:
    """Keep a list under a name; one of that name is replaced. Raises BadInput, and WrongState for too many.

    Of `query` only what a list reads is kept.
    """
    require(actor, Action.VIEW)
    name = _checked(name)
    asked = QueryDict(query[:4000])
    wanted = read_filter(asked)
    columns = read_columns(asked, everyone=wanted.everyone or cluster is not None)
    text = write_query(wanted, columns, queue=cluster is not None)
    if len(text) > 1000:
        raise BadInput(fields={"query": _("This is too long to be kept.")})
    with command("view.saved", actor=actor) as done:
        Membership.objects.select_for_update().get(tenant=actor.tenant, user=actor.user, ended_at=None)
        others = own_views(actor).exclude(name=name)
        if others.count() >= MOST_VIEWS:
            raise WrongState(
                _("You have %(most)d saved views here.") % {"most": MOST_VIEWS},
                hint=_("Delete one that you do not need."),
            )
        view, _is_new = SavedView.objects.update_or_create(
            tenant=actor.tenant, user=actor.user, name=name, defaults={"query": text, "cluster": cluster}
        )
        done.target = view
    return view


def rename_view(*, actor: Actor, view: SavedView, name: str) -> SavedView:
    """Another name. Raises BadInput, also where another view has it."""
    require(actor, Action.VIEW)
    name = _checked(name)
    try:
        with transaction.atomic(), command("view.renamed", actor=actor, target=view, detail={"name": name}):
            view.name = name
            view.save(update_fields=["name"])
    except IntegrityError as error:
        raise BadInput(fields={"name": _("Another of your views has this name.")}) from error
    return view


def delete_view(*, actor: Actor, view: SavedView) -> None:
    """Forget it; the jobs in it stay as they are."""
    require(actor, Action.VIEW)
    with command("view.deleted", actor=actor, target=view):
        SavedView.objects.filter(pk=view.pk).delete()


def _checked(name: str) -> str:
    try:
        line = parse_line(name, longest=LONGEST_NAME)
    except Refusal as refusal:
        raise BadInput(fields={"name": str(refusal)}) from refusal
    if line is None:
        raise BadInput(fields={"name": _("Enter a name.")})
    return line
