"""Where a member can go inside a tenant: the left navigation."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _

from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.rights import Action, may

# Label, name of the address, icon, what the role must allow. An address that nobody serves yet is left out.
ITEMS = (
    (_("Overview"), "overview", "overview", Action.VIEW),
    (_("Clusters"), "clusters", "cluster", Action.VIEW),
    (_("Jobs"), "jobs", "job", Action.VIEW),
    (_("Templates"), "templates", "template", Action.VIEW),
    (_("Orders"), "orders", "order", Action.VIEW),
    (_("Members"), "members", "members", Action.VIEW),
    (_("Usage"), "usage", "usage", Action.VIEW),
    (_("Audit"), "audit", "audit", Action.READ_AUDIT),
    (_("Settings"), "tenant-settings", "settings", Action.CHANGE_SETTINGS),
)


def navigation(actor: Actor, path: str) -> list[JSONDict]:
    """The items for this role; the one whose address is the longest beginning of the path is current.

    The overview's is the beginning of them all: it is current on its own page only.
    """
    items = list(_items(actor))
    begun = [item["url"] for item in items[1:] if path.startswith(item["url"])]
    current = max(begun, key=len, default=path)
    return [item | {"current": item["url"] == current} for item in items]


def search_address(actor: Actor) -> str:
    """Where the search box of the top bar leads; empty outside a tenant."""
    return _address("search", actor.tenant.slug) if actor.tenant is not None else ""


def _items(actor: Actor) -> Iterator[JSONDict]:
    if actor.tenant is None:
        return
    for label, name, icon, action in ITEMS:
        url = _address(name, actor.tenant.slug)
        if url and may(actor, action):
            yield {"label": label, "url": url, "icon": icon}


def _address(name: str, slug: str) -> str:
    try:
        return reverse(name, args=[slug])
    except NoReverseMatch:
        return ""
