"""The accounts step: the tenant as an account of Slurm's, and each of its accounts as a user of that.

By sacctmgr as Slurm's own user, in the pod of slurmctld: nobody else may before there is an administrator,
and slurmdbd's own pod has no client programs. Limits of members go through /slurmdb as that administrator.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import time

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.clients.kube.running import NotRun, Unfinished
from clusters.drivers.slinky import inside, names, shown
from clusters.drivers.slinky.settings import FILES, SlinkySettings
from clusters.drivers.slurm_probe import users
from clusters.drivers.slurm_probe.users import Seen
from clusters.kube import kinds
from clusters.kube.step import Clients
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext
from portal.lib.errors import TemporaryError

BELIEVED = 300.0  # seconds for which what was seen need not be looked at again
PATIENCE = 600.0  # seconds until a user whose jobs still ran is tried again
TIMEOUT = 20.0  # of one program
BUDGET = 15.0  # seconds of one apply; the rest is done in the next
NOT_ALL_KNOWN = 2  # of getent: the others are printed
MOST_SHOWN = 4 * 1024 * 1024


class AccountsStep:
    """Users of slurmdbd follow the accounts of the cluster, also out of it."""

    name = "accounts"
    component = "Slinky"
    # not identity: where limits are held, an account is shown to work only when Slurm knows it as a user
    needs: tuple[str, ...] = ("accounting", "slurm")
    deadline = dt.timedelta(minutes=15)

    def __init__(self, settings: SlinkySettings, tenants: Clients) -> None:
        self._settings = settings
        self._tenants = tenants

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        return (f"Slurm account {users.slurm_account(spec)} with the cluster's accounts as its users",)

    def observe(self, ctx: StepContext) -> Observed:
        """See Step. Ask slurmdbd, but not for what was seen a moment ago."""
        record = shown.read(ctx, shown.ACCOUNTS)
        if record is None:
            return Observed(exists=False)
        facts = {"account": users.slurm_account(ctx.spec)}
        is_asked = record["wanted"] == _digest(ctx.spec)
        if is_asked and time.time() - record["seen"] < BELIEVED:
            return Observed(exists=True, in_sync=True, ready=True, facts=facts)
        seen = self._look(ctx)
        # a user whose jobs still run cannot be removed: that holds nobody up, and is tried again later
        late = not is_asked or time.time() - record["asked"] > PATIENCE
        leaving = seen.leaving(ctx.spec) if late else []
        if differing := tuple(seen.differences(ctx.spec, leaving)):
            listed = sorted([*(one.name for one in seen.missing(ctx.spec)), *leaving])
            message = f"To be made or removed in Slurm: {', '.join(listed)}."
            return Observed(
                True, reason="AccountsDiffer", message=message, differences=differing, facts=facts
            )
        if unknown := sorted(set(_active(ctx.spec)) - set(seen.known)):
            message = f"slurmctld's pod does not know yet: {', '.join(unknown)}."
            return Observed(True, True, reason="AccountsDiffer", message=message, facts=facts)
        shown.write(ctx, shown.ACCOUNTS, {**record, "wanted": _digest(ctx.spec), "seen": time.time()})
        return Observed(exists=True, in_sync=True, ready=True, facts=facts)

    def apply(self, ctx: StepContext) -> None:
        """See Step."""
        client, until = self._tenants(ctx), time.monotonic() + BUDGET
        seen = self._look(ctx)
        shown.write(ctx, shown.ACCOUNTS, {"wanted": _digest(ctx.spec), "asked": time.time(), "seen": 0})
        leaving = seen.leaving(ctx.spec)
        for words in seen.commands(ctx.spec, leaving):
            if time.monotonic() > until:
                return
            code, told, _ = _run(client, [users.PROGRAM, "--immediate", "--quiet", *words])
            if code and words[0] != "remove":  # jobs of a user who leaves may still run
                raise TemporaryError("AccountsDiffer", f"sacctmgr refused: {' '.join(told.split())[:200]}")

    def remove(self, ctx: StepContext) -> None:
        """See Step. Users and account go with the database."""
        shown.forget(ctx, shown.ACCOUNTS)

    def _look(self, ctx: StepContext) -> Seen:
        client = self._tenants(ctx)
        # the site's directory is asked by login pods and workers alone
        by_files = self._settings.identity == FILES
        known = _known(client, ctx.spec) if by_files else set(_active(ctx.spec))
        code, _, printed = _run(client, [users.PROGRAM, *users.SHOW])
        if code:
            raise TemporaryError("AccountingDown", "slurmdbd does not list its users.")
        return Seen.of(printed, ctx.spec, known)


def _active(spec: ClusterSpec) -> list[str]:
    return [one.name for one in spec.accounts if one.active]


def _known(client: KubeClient, spec: ClusterSpec) -> set[str]:
    """Those whom slurmctld's pod knows by name."""
    wanted = _active(spec)
    code, told, printed = _run(client, ["getent", "passwd", *wanted]) if wanted else (0, "", "")
    if code not in {0, NOT_ALL_KNOWN}:
        raise TemporaryError("AccountingDown", f"slurmctld's pod names no accounts: {told[:200]}")
    return {line.partition(":")[0] for line in printed.splitlines()}


def _run(client: KubeClient, command: list[str]) -> tuple[int, str, str]:
    """Exit code, error stream and output of a program in slurmctld's container."""
    parts: list[bytes] = []

    def take(part: bytes) -> None:
        if sum(map(len, parts)) < MOST_SHOWN:
            parts.append(part)

    limited = ["timeout", "--kill-after=1", f"{TIMEOUT:g}", *command]
    pod = Ref(kinds.POD, inside.CONTROLLER_POD, names.NAMESPACE)
    try:
        ended = client.run(pod, inside.CONTROLLER, limited, timeout=TIMEOUT + 2, take=take)
    except errors.ParentMissing as error:
        raise TemporaryError("AccountingStarting", "slurmctld's pod is not there.") from error
    except (NotRun, Unfinished) as error:
        raise TemporaryError("AccountingDown", error.message) from error
    return ended.code, ended.words, b"".join(parts).decode("utf-8", "replace")


def _digest(spec: ClusterSpec) -> str:
    active = sorted(f"{users.level_of(one)} {one.name} {one.uid}" for one in spec.accounts if one.active)
    return hashlib.sha256("\0".join([users.slurm_account(spec), *active]).encode()).hexdigest()[:16]
