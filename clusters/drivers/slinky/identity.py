"""The accounts of a cluster: published to Slurm's pods, then each one shown to be who it is."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping
from dataclasses import replace

from clusters.clients.kube.models import Manifest, Ref
from clusters.clients.slurmrest.errors import SlurmRefused
from clusters.drivers.slinky import conf, names, shown
from clusters.drivers.slinky.base import TENANT
from clusters.drivers.slinky.reach import Reach
from clusters.drivers.slinky.settings import FILES, SlinkySettings
from clusters.drivers.slurm_probe.identity import cancel_leftovers, check_identity
from clusters.kube import kinds, objects
from clusters.kube.objects import Wanted
from clusters.kube.sinks import Scope
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import AccountSpec, ClusterSpec, Observed, StepContext
from portal.lib.errors import PermanentError, TemporaryError

UNKNOWN_USER = 2045  # of Slurm's: no association
BUDGET = 15.0  # seconds of one apply; the rest is shown in the next


class IdentityStep(ObjectsStep):
    """Pods see new files within a minute or two, without a restart; until then Slurm knows nobody new."""

    name = "identity"
    component = "Slinky"
    system = TENANT
    needs: tuple[str, ...] = ("slurm",)
    deadline = dt.timedelta(minutes=15)

    def __init__(self, settings: SlinkySettings, clients: Clients, reach: Reach) -> None:
        super().__init__(clients)
        self._settings = settings
        self._reach = reach

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        where = "by files in Slurm's pods" if self._settings.identity == FILES else "by the site's SSSD"
        members, own = spec.account_numbers
        how = f"{members} of members who may submit jobs, {own} of Freehold's own"
        listed = (f"account {one.name} ({one.kind})" for one in spec.accounts)
        return (f"accounts {where}: {how}", *listed)

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        return (Scope(kinds.CONFIG_MAP, names.NAMESPACE),)

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep. With SSSD nothing mounts it, and it says whom the site's directory should know."""
        files = {"passwd": conf.passwd(ctx.spec), "group": conf.group(ctx.spec)}
        if self._settings.login.replicas and self._settings.identity == FILES:
            files |= conf.keys(ctx.spec)
        return (objects.config_map(names.IDENTITY, files, namespace=names.NAMESPACE),)

    def facts(self, ctx: StepContext, found: Mapping[Ref, Manifest]) -> Mapping[str, str]:
        """See ObjectsStep."""
        del found
        return {"accounts": ",".join(sorted(one.name for one in ctx.spec.accounts)), "homes": "/home"}

    def observe(self, ctx: StepContext) -> Observed:
        """See Step. Not in sync while an account is still to be shown: that is this step's to do."""
        seen = super().observe(ctx)
        if not (seen.exists and seen.in_sync and seen.ready):
            return seen
        waiting = _unproved(ctx)
        if not waiting:
            return seen
        message = f"Not yet shown to work: {', '.join(one.name for one in waiting)}."
        return replace(
            seen, in_sync=False, ready=False, routine=True, reason="IdentityNotShown", message=message
        )

    def apply(self, ctx: StepContext) -> None:
        """See Step."""
        super().apply(ctx)
        end = time.monotonic() + BUDGET
        for account in _unproved(ctx):
            if time.monotonic() > end:
                return
            self._prove(ctx, account)

    def remove(self, ctx: StepContext) -> None:
        """See Step."""
        super().remove(ctx)
        shown.forget(ctx, shown.IDENTITY)

    def _prove(self, ctx: StepContext, account: AccountSpec) -> None:
        record = {"proved": {}, "begun": [], **(shown.read(ctx, shown.IDENTITY) or {})}
        gateway = self._reach.gateway(ctx, account.name)
        if account.name in record["begun"]:
            cancel_leftovers(gateway, account=account.name)
        record["begun"] = sorted({*record["begun"], account.name})
        shown.write(ctx, shown.IDENTITY, record)
        try:
            check_identity(gateway, account=account.name, home=conf.home_of(account.name))
        except PermanentError as error:
            is_no_user = isinstance(error, SlurmRefused) and error.code == UNKNOWN_USER
            if is_no_user and ctx.spec.enforces_limits:
                # the accounts step, which comes later, makes it known
                message = f"Slurm does not know {account.name} as a user yet."
                raise TemporaryError("IdentityNotShown", message) from error
            if error.reason != "WrongIdentity":
                raise
            # the pods have not seen the new files yet; if they never do, the deadline says so
            raise TemporaryError("IdentityNotShown", error.message) from error
        record["begun"].remove(account.name)
        record["proved"][account.name] = shown.of_account(ctx, account)
        shown.write(ctx, shown.IDENTITY, record)


def _unproved(ctx: StepContext) -> list[AccountSpec]:
    proved = (shown.read(ctx, shown.IDENTITY) or {}).get("proved", {})
    return [
        one for one in ctx.spec.accounts if one.active and proved.get(one.name) != shown.of_account(ctx, one)
    ]
