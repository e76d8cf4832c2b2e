"""The fabric step: keeps books of VPCs and switch ports as a fabric controller would."""

from __future__ import annotations

import datetime as dt

from clusters.drivers.local import names
from clusters.drivers.local.guard import guarded
from clusters.drivers.local.ledger import Ledger
from clusters.drivers.local.machines import leaving, site_folder
from clusters.drivers.local.settings import LocalSettings
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext
from portal.lib.types import JSONDict


class FabricStep:
    """One VPC per cluster, and in it the switch ports of the cluster's machines."""

    name = "fabric"
    component = "Freehold's local site"
    needs: tuple[str, ...] = ("machines",)
    deadline = dt.timedelta(minutes=1)

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        ports = sum(len(pool.machines) for pool in spec.pools)
        return (f"VPC {spec.name} with {ports} switch port{'' if ports == 1 else 's'} (books only)",)

    @guarded
    def observe(self, ctx: StepContext) -> Observed:
        """Compare both books with the spec."""
        present = [ledger.of_cluster(ctx.spec) for ledger, _, _ in self._books(ctx)]
        if not any(present):
            return Observed(exists=False)
        differing = tuple(
            one
            for ledger, things, spare in self._books(ctx)
            for one in ledger.differences(ctx.spec, things, spare=spare)
        )
        fine = not differing
        return Observed(
            exists=True,
            in_sync=fine,
            ready=fine,
            reason="" if fine else "FabricDiffers",
            message="" if fine else "The switch ports in the VPC are not the cluster's machines.",
            differences=differing,
            facts={
                "vpc": ctx.spec.name,
                "ports": ",".join(sorted(str(entry["name"]) for entry in present[1].values())),
            },
        )

    @guarded
    def apply(self, ctx: StepContext) -> None:
        """Enter what is missing, take out what is too much."""
        names.check(ctx.spec, system_user=self._settings.system_user)
        for ledger, things, spare in self._books(ctx):
            ledger.claim(ctx.spec, things, spare=spare)

    @guarded
    def remove(self, ctx: StepContext) -> None:
        """Take the ports out, then the VPC."""
        for ledger, _, _ in reversed(self._books(ctx)):
            ledger.release(ctx.spec)

    def _books(self, ctx: StepContext) -> tuple[tuple[Ledger, dict[str, JSONDict], tuple[str, ...]], ...]:
        root, spec = site_folder(self._settings, ctx) / "fabric", ctx.spec
        ports: dict[str, JSONDict] = {
            machine: {"vpc": spec.name} for pool in spec.pools for machine in pool.machines
        }
        return (
            (Ledger(root / "vpcs", "VPC"), {spec.name: {"tenant": spec.tenant}}, ()),
            (Ledger(root / "ports", "switch port"), ports, leaving(spec)),
        )
