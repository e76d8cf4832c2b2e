"""Gives each cluster a prefix of its own out of its site's pool, and takes it back when it is deleted."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network

from django.db import transaction

from clusters.models import Cluster, FabricPrefix, Site
from portal.lib.errors import PermanentError

SECTION = "fabric"  # of a site's settings: {"pool": "10.96.0.0/12", "length": 20}
DEFAULT_LENGTH = 20


def prefix_of(cluster: Cluster) -> str:
    """The cluster's prefix; "" when it has none."""
    return FabricPrefix.objects.filter(cluster=cluster).values_list("prefix", flat=True).first() or ""


def give_prefix(cluster: Cluster) -> str:
    """The cluster's prefix, given now if the site has a pool and the cluster is wanted; "" otherwise.

    Raises PermanentError: BadSiteSettings, PrefixesExhausted.
    """
    known = prefix_of(cluster)
    if known or not cluster.wanted or SECTION not in cluster.site.settings:
        return known
    with transaction.atomic():
        # whoever else gives a prefix at this site waits here
        site = Site.objects.select_for_update(no_key=True).get(pk=cluster.site_id)
        pool, length = pool_of(site)
        used = FabricPrefix.objects.filter(site=site).values_list("prefix", flat=True)
        found = first_free(pool, length, map(IPv4Network, used))
        if found is None:
            raise PermanentError(
                "PrefixesExhausted",
                f"The site {site.name} has no addresses left for another cluster.",
                hint=f"Its pool is {pool}, {length} bits for each cluster. Give it a larger one.",
            )
        given, _ = FabricPrefix.objects.get_or_create(
            cluster=cluster, defaults={"site": site, "prefix": str(found)}
        )
    return given.prefix


def take_back(cluster: Cluster) -> None:
    """The cluster is gone, and all that had its addresses was seen to be gone."""
    FabricPrefix.objects.filter(cluster=cluster).delete()


def pool_of(site: Site) -> tuple[IPv4Network, int]:
    """The site's pool, and how long the prefix of one cluster is. Raises PermanentError BadSiteSettings."""
    section = site.settings.get(SECTION)
    try:
        pool = IPv4Network(section["pool"])
        length = int(section.get("length", DEFAULT_LENGTH))
    except (AttributeError, KeyError, TypeError, ValueError):
        length, pool = 0, IPv4Network("0.0.0.0/0")
    if not pool.prefixlen <= length <= 30 or pool.prefixlen < 8:
        raise PermanentError(
            "BadSiteSettings",
            f"The site's setting {SECTION} is no pool of addresses.",
            hint='It is written as in {"pool": "10.96.0.0/12", "length": 20}.',
        )
    return pool, length


def first_free(pool: IPv4Network, length: int, used: Iterable[IPv4Network]) -> IPv4Network | None:
    """The lowest prefix of this length in the pool that overlaps none of the used ones."""
    size = 1 << (32 - length)
    start = int(pool.network_address)
    for taken in sorted(used):
        if int(taken.broadcast_address) < start:
            continue
        if start + size <= int(taken.network_address):
            break
        start = (int(taken.broadcast_address) // size + 1) * size
    if start + size - 1 > int(pool.broadcast_address):
        return None
    return IPv4Network((start, length))
