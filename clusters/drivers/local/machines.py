"""The machines step: writes down which machine of the local site is given to which cluster."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from clusters.drivers.local import names
from clusters.drivers.local.guard import guarded
from clusters.drivers.local.ledger import Ledger
from clusters.drivers.local.settings import LocalSettings
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext
from portal.lib.types import JSONDict


def site_folder(settings: LocalSettings, ctx: StepContext) -> Path:
    """Where a site keeps its ledgers. The site's setting "site" tells local sites apart."""
    return settings.data / "site" / names.label(ctx.settings.get("site", "local"))


class MachinesStep:
    """A machine belongs to at most one cluster; whoever comes second is refused."""

    name = "machines"
    component = "Freehold's local site"
    needs: tuple[str, ...] = ()
    deadline = dt.timedelta(minutes=1)

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return tuple(
            f"machine {machine} for pool {pool.name}" for pool in spec.pools for machine in pool.machines
        )

    @guarded
    def observe(self, ctx: StepContext) -> Observed:
        """Compare the ledger with the allocation."""
        ledger = self._ledger(ctx)
        present = ledger.of_cluster(ctx.spec)
        if not present:
            return Observed(exists=False)
        differing = ledger.differences(ctx.spec, _things(ctx.spec), spare=leaving(ctx.spec))
        fine = not differing
        return Observed(
            exists=True,
            in_sync=fine,
            ready=fine,
            reason="" if fine else "MachinesDiffer",
            message="" if fine else "The site's ledger differs from the allocation.",
            differences=differing,
            facts={"machines": ",".join(sorted(str(entry["name"]) for entry in present.values()))},
        )

    @guarded
    def apply(self, ctx: StepContext) -> None:
        """Enter what is missing, take out what is too much."""
        names.check(ctx.spec, system_user=self._settings.system_user)
        self._ledger(ctx).claim(ctx.spec, _things(ctx.spec), spare=leaving(ctx.spec))

    @guarded
    def remove(self, ctx: StepContext) -> None:
        """Give all machines back."""
        self._ledger(ctx).release(ctx.spec)

    def _ledger(self, ctx: StepContext) -> Ledger:
        return Ledger(site_folder(self._settings, ctx) / "machines", "machine")


def leaving(spec: ClusterSpec) -> tuple[str, ...]:
    """Machines that are still being emptied."""
    return tuple(machine for pool in spec.pools for machine in pool.leaving)


def _things(spec: ClusterSpec) -> dict[str, JSONDict]:
    return {machine: {"pool": pool.name} for pool in spec.pools for machine in pool.machines}
