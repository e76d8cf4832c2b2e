"""The identity step: a unix account per person and service of a cluster, each shown to work in Slurm."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from clusters.clients.slurmrest.errors import SlurmRefused
from clusters.drivers.local import daemons, files, folder, names, slurm_plan, telling, unix
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.guard import guarded
from clusters.drivers.local.settings import LocalSettings
from clusters.drivers.slurm_probe import gateways
from clusters.drivers.slurm_probe.identity import cancel_leftovers, check_identity
from clusters.provisioning.steps import (
    EMPTY,
    AccountSpec,
    ClusterSpec,
    Difference,
    Observed,
    StepContext,
)
from portal.lib.errors import PermanentError, TemporaryError

KEY = "slurm-jwt-key"
UNKNOWN_USER = 2045  # of Slurm's: no association


class IdentityStep:
    """Accounts with locked passwords and homes of their own; one who left is closed, its jobs may end."""

    name = "identity"
    component = "This machine's user files"
    needs: tuple[str, ...] = ("slurm",)
    deadline = dt.timedelta(minutes=5)

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        members, own = spec.account_numbers
        how = f"{members} of members who may submit jobs, {own} of Freehold's own"
        listed = (f"unix account {account.name} ({account.kind})" for account in spec.accounts)
        return (f"accounts in this machine's user files: {how}", *listed)

    @guarded
    def observe(self, ctx: StepContext) -> Observed:
        """Compare accounts, homes and the record of the probes with the spec."""
        names.check_cluster(ctx.spec)
        home = folder.of(self._settings.clusters, ctx.spec)
        ours = unix.users_with(unix.mark_of(ctx.spec))
        if not ours and not (folder.is_ours(home, ctx.spec) and _has_entries(home)):
            return Observed(exists=False)
        differing = {
            account.name: found
            for account in ctx.spec.accounts
            if (found := tuple(_differences(home, ctx.spec, account)))
        }
        forgotten = {entry.pw_name for entry in ours} - {account.name for account in ctx.spec.accounts}
        differing |= {
            entry.pw_name: (
                Difference(f"unix account {entry.pw_name}", "shell", unix.NO_SHELL, entry.pw_shell),
            )
            for entry in ours
            if entry.pw_name in forgotten and _is_open(entry.pw_shell)
        }
        waiting = _unproved(ctx, home)
        if differing:
            reason, message = "AccountsDiffer", f"To be made or mended: {', '.join(sorted(differing))}."
        elif waiting:
            reason, message = "IdentityNotShown", f"Not yet shown to work: {', '.join(sorted(waiting))}."
        else:
            reason = message = ""
        fine = not reason
        return Observed(
            exists=True,
            in_sync=fine,
            ready=fine,
            reason=reason,
            message=message,
            differences=tuple(one for name in sorted(differing) for one in differing[name]),
            facts={"accounts": ",".join(sorted(entry.pw_name for entry in ours)), "homes": str(home.homes)},
        )

    @guarded
    def apply(self, ctx: StepContext) -> None:
        """Make and mend accounts, then show each active one with a held job that is cancelled at once."""
        names.check(ctx.spec, system_user=self._settings.system_user)
        home = folder.of(self._settings.clusters, ctx.spec)
        if not folder.is_ours(home, ctx.spec) or not home.homes.is_dir():
            raise TemporaryError("ClusterMissing", "The cluster's folder does not exist yet.")
        with folder.alone(home):
            for account in ctx.spec.accounts:
                _ensure(home, ctx.spec, account)
            _close_forgotten(ctx.spec)
            for account_name in _unproved(ctx, home):
                _prove(ctx, home, account_name)

    @guarded
    def remove(self, ctx: StepContext) -> None:
        """End the accounts' processes, remove the accounts and their homes."""
        names.check_cluster(ctx.spec)
        home = folder.of(self._settings.clusters, ctx.spec)
        ours = unix.users_with(unix.mark_of(ctx.spec))
        if ours:
            daemons.end_jobs(str(home.conf).__eq__, folder.job_gids(home))
        for entry in ours:
            unix.remove_user(entry.pw_name)
        if folder.is_ours(home, ctx.spec):
            home.state("identity").unlink(missing_ok=True)
            for path in home.homes.iterdir() if home.homes.is_dir() else ():
                files.remove_tree(path)


def _has_entries(home: ClusterFolder) -> bool:
    return home.homes.is_dir() and any(home.homes.iterdir())


def _is_open(shell: str) -> bool:
    return shell != unix.NO_SHELL


def _differences(home: ClusterFolder, spec: ClusterSpec, account: AccountSpec) -> Iterator[Difference]:
    entry, thing = unix.user(account.name), f"unix account {account.name}"
    if entry is None:
        yield telling.missing(thing)
        return
    for name, wanted, found in (
        ("comment", unix.mark_of(spec).comment, entry.pw_gecos),
        ("uid", account.uid, entry.pw_uid),
        ("gid", account.gid, entry.pw_gid),
        ("home", home.home(account.name), entry.pw_dir),
    ):
        if str(wanted) != str(found):
            yield Difference(thing, name, str(wanted), str(found))
    if _is_open(entry.pw_shell) != account.active:  # any shell is one
        yield Difference(thing, "shell", unix.SHELL if account.active else unix.NO_SHELL, entry.pw_shell)
    yield from telling.of_folder(home.home(account.name), mode=0o700, uid=account.uid, gid=account.gid)


def _ensure(home: ClusterFolder, spec: ClusterSpec, account: AccountSpec) -> None:
    entry = unix.user(account.name)
    mark = unix.mark_of(spec)
    if entry is not None and entry.pw_gecos != mark.comment:
        raise folder.name_taken(f"a user {account.name}")
    holder = unix.user_of_id(account.uid)
    if holder not in {None, account.name} or (entry is not None and entry.pw_uid != account.uid):
        raise PermanentError(
            "UidTaken",
            f"User id {account.uid} does not belong to {account.name} on this machine. Nothing was changed.",
            hint="Give the portal a range of ids that nothing else uses.",
        )
    path = home.home(account.name)
    if entry is None:
        unix.add_user(account.name, uid=account.uid, gid=account.gid, home=path, mark=mark)
    is_open = True if entry is None else _is_open(entry.pw_shell)
    if is_open != account.active:
        unix.set_open(account.name, is_open=account.active)
    if not files.is_folder(path, mode=0o700, uid=account.uid, gid=account.gid):
        files.ensure_folder(path, mode=0o700, uid=account.uid, gid=account.gid)


def _close_forgotten(spec: ClusterSpec) -> None:
    known = {account.name for account in spec.accounts}
    for entry in unix.users_with(unix.mark_of(spec)):
        if entry.pw_name not in known and _is_open(entry.pw_shell):
            unix.set_open(entry.pw_name, is_open=False)


def _version(ctx: StepContext, account: AccountSpec) -> str:
    # a new key or another uid makes the proof worthless
    return slurm_plan.digest(ctx.secrets.get(KEY, b""), f"{account.name} {account.uid}".encode())


def _unproved(ctx: StepContext, home: ClusterFolder) -> list[str]:
    proved = (files.read_json(home.state("identity")) or {}).get("proved", {})
    return [
        account.name
        for account in ctx.spec.accounts
        if account.active and proved.get(account.name) != _version(ctx, account)
    ]


def _prove(ctx: StepContext, home: ClusterFolder, account_name: str) -> None:
    path = home.state("identity")
    record = {"proved": {}, "begun": [], **(files.read_json(path) or {})}
    account = next(one for one in ctx.spec.accounts if one.name == account_name)
    gateway = gateways.of(ctx.facts.get("slurm", EMPTY), account_name, ctx.secrets[KEY])
    if account_name in record["begun"]:
        cancel_leftovers(gateway, account=account_name)
    record["begun"] = sorted({*record["begun"], account_name})
    files.write_json(path, record)
    try:
        check_identity(gateway, account=account_name, home=str(home.home(account_name)))
    except SlurmRefused as error:
        if error.code == UNKNOWN_USER and ctx.spec.enforces_limits:
            # the accounts step, which comes later, makes it known
            raise TemporaryError(
                "IdentityNotShown", f"Slurm does not know {account_name} as a user yet."
            ) from error
        raise
    record["begun"].remove(account_name)
    record["proved"][account_name] = _version(ctx, account)
    files.write_json(path, record)
