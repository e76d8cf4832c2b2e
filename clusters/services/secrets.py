"""Credentials for outside systems: put in by operators for a site, kept by steps for a cluster."""

from __future__ import annotations

import datetime as dt

from clusters.models import Cluster, ClusterSecret, Site, SiteSecret
from portal.lib import clock
from portal.lib.crypto import seal, unseal
from tenants.actor import Actor
from tenants.commands import command

OF_SITE = "site."  # before the name of a site's secret, so that no cluster's secret can pass for it


def set_site_secret(*, actor: Actor, site: Site, name: str, value: bytes) -> SiteSecret:
    """Put a site's credential in, or another in its place. The audit row names it and never holds it."""
    with command("site.secret_set", actor=actor, target=site, detail={"name": name}):
        secret, _ = SiteSecret.objects.update_or_create(
            site=site, name=name, defaults={"sealed": seal(value), "changed_at": clock.now()}
        )
        return secret


def keep(cluster: Cluster, name: str, value: bytes, expires_at: dt.datetime | None) -> None:
    """Seal what a step made for the portal's own use."""
    ClusterSecret.objects.update_or_create(
        cluster=cluster,
        name=name,
        defaults={"sealed": seal(value), "expires_at": expires_at, "changed_at": clock.now()},
    )


def site_secrets(site: Site) -> dict[str, bytes]:
    """The site's own, opened, by the names under which steps ask. Raises PermanentError SealBroken."""
    rows = SiteSecret.objects.filter(site=site)
    return {f"{OF_SITE}{one.name}": unseal(bytes(one.sealed)) for one in rows}


def secrets_for(cluster: Cluster) -> dict[str, bytes]:
    """Everything that the cluster's steps may need, opened. Raises PermanentError SealBroken."""
    found = site_secrets(cluster.site)
    for one in ClusterSecret.objects.filter(cluster=cluster):
        found[one.name] = unseal(bytes(one.sealed))
    return found
