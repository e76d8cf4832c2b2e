"""The fabric step on Netris: one server cluster per cluster, in a VPC of its own. The VRF is the wall."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from clusters.clients.netris.client import NetrisClient
from clusters.clients.netris.models import ServerCluster
from clusters.drivers.netris import changes, telling
from clusters.drivers.netris.look import FAILED, READY, View, look, problem
from clusters.drivers.netris.sessions import client_for
from clusters.drivers.netris.settings import NetrisSettings
from clusters.provisioning.steps import Change, ClusterSpec, Observed, StepContext
from portal.lib.errors import PermanentError, TemporaryError

Clients = Callable[[NetrisSettings, StepContext], NetrisClient]


class FabricStep:
    """Makes the controller connect exactly the cluster's machines, and them with nobody else."""

    name = "fabric"
    component = "Netris"
    needs: tuple[str, ...] = ("machines",)
    deadline = dt.timedelta(minutes=20)

    def __init__(self, settings: NetrisSettings, *, clients: Clients = client_for) -> None:
        self._settings = settings
        self._clients = clients

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        count = sum(len(pool.machines) for pool in spec.pools)
        servers = f"{count} server{'' if count == 1 else 's'}"
        place, prefix = self._settings.site, spec.prefix or "of its own from the site's pool"
        return (
            f"server cluster {spec.name} at {place} with {servers}, from template {self._settings.template}",
            f"VPC (VRF) for {spec.name} alone, with V-Nets and a prefix {prefix}",
            *(
                f"ACL {spec.name}-{rule.name}: {rule.action} {rule.protocol} to {rule.destination}"
                for rule in self._settings.acls
            ),
        )

    def observe(self, ctx: StepContext) -> Observed:
        """Compare the controller's listings with the spec."""
        client = self._clients(self._settings, ctx)
        view = look(client, ctx.spec)
        if view.is_empty:
            self._confirm_gone(client, view, ctx)
            return Observed(exists=False)
        if trouble := problem(client, view, ctx.spec, self._settings):
            # what can only be removed must still be removable, so this is no error here
            return Observed(True, reason=trouble.reason, message=trouble.message, facts=_facts(view, ctx))
        if view.cluster is None:
            return Observed(True, reason="Removing", message="A VPC or ACLs of the cluster are left.")
        differing = tuple(telling.differences(view, ctx.spec, self._settings))
        reason, message = _progress(client, view, in_sync=not differing)
        return Observed(True, not differing, not reason, reason, message, differing, facts=_facts(view, ctx))

    def apply(self, ctx: StepContext) -> None:
        """Make the server cluster, or bring its members, its VPC's tags and its ACLs to the spec."""
        client = self._clients(self._settings, ctx)
        view = look(client, ctx.spec)
        if trouble := problem(client, view, ctx.spec, self._settings):
            raise trouble
        if view.cluster is not None:
            changes.mend(client, view, ctx.spec, self._settings)
        elif view.is_empty:
            changes.create(client, view, ctx.spec, self._settings)
        else:
            changes.remove(client, view, ctx.spec)
            raise TemporaryError("Removing", "What is left of an earlier fabric is removed first.")

    def preview(self, ctx: StepContext) -> tuple[Change, ...]:
        """See Previews."""
        client = self._clients(self._settings, ctx)
        view = look(client, ctx.spec)
        if trouble := problem(client, view, ctx.spec, self._settings):
            raise trouble
        return telling.preview(client, view, ctx.spec, self._settings)

    def remove(self, ctx: StepContext) -> None:
        """Ask for the removal of ACLs and server cluster; of the VPC once the server cluster is gone."""
        client = self._clients(self._settings, ctx)
        changes.remove(client, look(client, ctx.spec), ctx.spec)

    def _confirm_gone(self, client: NetrisClient, view: View, ctx: StepContext) -> None:
        """Nothing of ours is listed: believed of a user who sees the site, and when the id is gone too."""
        if self._settings.site not in {site.name for site in client.sites()}:
            raise PermanentError(
                "SiteUnknown",
                f"The fabric controller shows the portal no site {self._settings.site}.",
                hint="Correct netris.site, or the rights of the portal's user in the controller.",
            )
        known = ctx.facts.get(self.name, {}).get("server_cluster", "")
        found = client.server_cluster(int(known)) if known.isdigit() else None
        if found is None or found.name != ctx.spec.name:
            return
        if found.id in {other.id for other in view.others}:
            raise PermanentError(
                "MarkLost",
                "The cluster's server cluster has lost Freehold's tags, so it is not touched.",
                hint=f"Give server cluster {found.id} its freehold.io tags back, then retry.",
            )
        raise TemporaryError("PartialListing", "The fabric controller's list lacks what is there.")


def _progress(client: NetrisClient, view: View, *, in_sync: bool) -> tuple[str, str]:
    """Why it is not ready, if it is not."""
    cluster = view.cluster
    if cluster is None or not in_sync:
        return "FabricDiffers", "The fabric controller's server cluster, VPC or ACLs differ from the cluster."
    if cluster.status in FAILED:
        return "FabricFailed", "The fabric controller reports an error for the server cluster."
    if cluster.status not in READY or not cluster.vnets or view.vpc is None:
        return "FabricNotReady", _awaited(client, cluster)
    return "", ""


def _awaited(client: NetrisClient, cluster: ServerCluster) -> str:
    if not cluster.vnets:
        return "The fabric controller still makes the V-Nets."
    names = {net.id for net in cluster.vnets}
    down = [net.name for net in client.vnets() if net.id in names and net.status not in READY]
    waits = f" Not up yet: {', '.join(sorted(down))}." if down else ""
    return f"The fabric controller is setting up the switches.{waits}"


def _facts(view: View, ctx: StepContext) -> dict[str, str]:
    cluster = view.cluster
    if cluster is None:
        return {}
    return {
        "server_cluster": str(cluster.id),
        "vpc": cluster.vpc.name if cluster.vpc else "",
        "vpc_id": str(cluster.vpc.id) if cluster.vpc else "",
        "vnets": ",".join(sorted(net.name for net in cluster.vnets)),
        "prefix": ctx.spec.prefix,
        "prefixes": ",".join(str(prefix) for prefix in cluster.prefixes),
        "servers": ",".join(sorted(member.name for member in cluster.servers)),
    }
