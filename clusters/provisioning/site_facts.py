"""Learns in a worker what the order form of a site needs: its template's parameters, the outside's stock."""

from __future__ import annotations

import structlog

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.models import Flavor, Site, SiteFacts, SiteStock
from clusters.picking import they_pick
from clusters.provisioning.context import site_settings
from clusters.provisioning.steps import ClusterSpec, StepContext
from clusters.services.secrets import site_secrets
from portal.lib import clock
from portal.lib.errors import OutsideError, PermanentError
from portal.lib.types import JSONDict

log = structlog.get_logger(__name__)
DRIVER = "vcluster_platform"
LONGEST = 500
NOBODY = ClusterSpec("", "", "", "", "", pools=(), accounts=(), gid=0)


def learn(site_id: str) -> None:
    """One look at one site. No answer leaves what was learnt, with the trouble beside it."""
    site = Site.objects.filter(pk=site_id).first()
    if site is None:
        return
    _learn_stock(site)
    if site.drivers.get("control_plane") != DRIVER:
        SiteFacts.objects.filter(site=site).delete()
        return
    try:
        found = _look(site) | {"seen_at": clock.now(), "trouble": ""}
    except OutsideError as error:
        found = {"trouble": f"{error.reason}: {error.message}"[:LONGEST]}
    SiteFacts.objects.update_or_create(site=site, defaults=found)


def _learn_stock(site: Site) -> None:
    """What the outside has to give, where it picks machines. No answer leaves what was seen, with its age."""
    if not they_pick(site):
        SiteStock.objects.filter(site=site).delete()
        return
    # imported late: as below
    from clusters.drivers.vcluster_nodes import NodesSettings, Stock, read_stock  # noqa: PLC0415
    from clusters.kube.servers import PLATFORM  # noqa: PLC0415

    ctx = StepContext(spec=NOBODY, settings=site_settings(site), secrets=site_secrets(site))
    now = clock.now()  # before the look: what is claimed while it runs counts as not seen
    try:
        types = NodesSettings.from_site(site.settings).node_types
        stock = read_stock(PLATFORM(ctx))
    except OutsideError as error:
        log.warning("stock.unseen", site=site.slug, reason=error.reason)
        return
    for flavor in Flavor.objects.filter(name__in=list(types)):
        there = stock.get(types[flavor.name], Stock(0, 0))
        SiteStock.objects.update_or_create(
            site=site,
            flavor=flavor,
            defaults={"total": there.total, "claimed": min(there.claimed, there.total), "seen_at": now},
        )
    SiteStock.objects.filter(site=site).exclude(flavor__name__in=list(types)).delete()


def _look(site: Site) -> JSONDict:
    # imported late: only workers of such a site need the driver
    from clusters.drivers.vcluster_platform import PlatformSettings  # noqa: PLC0415
    from clusters.drivers.vcluster_platform.kinds import TEMPLATE  # noqa: PLC0415
    from clusters.kube.servers import PLATFORM  # noqa: PLC0415

    ctx = StepContext(spec=NOBODY, settings=site_settings(site), secrets=site_secrets(site))
    settings = PlatformSettings.from_site(site.settings, has_fabric=bool(site.drivers.get("fabric")))
    client = PLATFORM(ctx)
    template = client.get(Ref(TEMPLATE, settings.template))
    if template is None:
        raise PermanentError("TemplateMissing", f"The Platform has no template {settings.template}.")
    spec = template.get("spec") or {}
    return {
        "template": {
            "spec": {
                "parameters": spec.get("parameters") or [],
                "versions": [
                    {"version": one.get("version"), "parameters": one.get("parameters") or []}
                    for one in spec.get("versions") or ()
                ],
            }
        },
        "version": settings.version,
        "fixed": sorted(settings.parameters),
        "hidden": _why_hidden(client, settings.template, site)[:LONGEST],
    }


def _why_hidden(client: KubeClient, name: str, site: Site) -> str:
    from clusters.drivers.vcluster_platform import PlatformSettings  # noqa: PLC0415
    from clusters.drivers.vcluster_platform.licence import offers  # noqa: PLC0415

    settings = PlatformSettings.from_site(site.settings, has_fabric=bool(site.drivers.get("fabric")))
    return next((offer.hidden for offer in offers(client, settings) if offer.name == name), "")
