"""The accounts step: the tenant as an account of Slurm's, and each of its accounts as a user of that.

Made by Slurm's own user through sacctmgr: nobody else may before there is an administrator. It runs beside
the pass, since each of its commands takes half a second.
"""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import time
from pathlib import Path

from clusters.drivers.local import (
    accounting_books,
    accounting_store,
    daemons,
    files,
    folder,
    names,
    slurm_plan,
    unix,
)
from clusters.drivers.local.accounting_books import Books
from clusters.drivers.local.accounting_store import BOOKS
from clusters.drivers.local.daemons import PATH, Daemon
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.guard import guarded
from clusters.drivers.local.settings import LocalSettings
from clusters.drivers.local.slurmconf import tells_accounting
from clusters.drivers.slurm_probe import users
from clusters.drivers.slurm_probe.users import PROGRAM, Seen, slurm_account
from clusters.provisioning.steps import AccountSpec, ClusterSpec, Observed, StepContext
from portal.lib.errors import TemporaryError
from portal.lib.types import JSONDict

BELIEVED = 60.0  # seconds for which what was seen need not be looked at again
PATIENCE = 600.0  # seconds until a user whose jobs still ran is tried again


class AccountsStep:
    """local: users of slurmdbd follow the accounts of the cluster, also out of it."""

    name = "accounts"
    component = "Slurm"
    # not identity: where limits are held, an account is shown to work only when Slurm knows it as a user
    needs: tuple[str, ...] = ("accounting", "slurm")
    deadline = dt.timedelta(minutes=5)

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return (f"Slurm account {slurm_account(spec)} with the cluster's accounts as its users",)

    @guarded
    def observe(self, ctx: StepContext) -> Observed:
        """Ask slurmdbd, but not for what was seen a moment ago."""
        names.check_cluster(ctx.spec)
        books = accounting_books.of(self._settings, ctx.spec)
        record = _read(books) if folder.is_ours(books.place, ctx.spec) else None
        if record is None:
            return Observed(exists=False)
        if _is_at_work(books):
            return Observed(
                exists=True, in_sync=True, reason="AccountsDiffer", message="They are being made."
            )
        facts = {"account": slurm_account(ctx.spec)}
        is_asked = record.get("wanted") == _digest(ctx.spec)
        if is_asked and time.time() - record.get("seen", 0) < BELIEVED:
            return Observed(exists=True, in_sync=True, ready=True, facts=facts)
        seen = _look(ctx, self._home(ctx), books)
        # a user whose jobs still run cannot be removed: that holds nobody up, and is tried again later
        late = not is_asked or time.time() - record.get("asked", 0) > PATIENCE
        leaving = seen.leaving(ctx.spec) if late else []
        if differing := tuple(seen.differences(ctx.spec, leaving)):
            listed = sorted([*(one.name for one in seen.missing(ctx.spec)), *leaving])
            return Observed(
                exists=True,
                reason="AccountsDiffer",
                message=f"To be made or removed in Slurm: {', '.join(listed)}.",
                differences=differing,
                facts=facts,
            )
        _write(books, {**record, "wanted": _digest(ctx.spec), "seen": time.time()})
        return Observed(exists=True, in_sync=True, ready=True, facts=facts)

    @guarded
    def apply(self, ctx: StepContext) -> None:
        """Start sacctmgr with what differs."""
        names.check(ctx.spec, system_user=self._settings.system_user)
        books, home = accounting_books.of(self._settings, ctx.spec), self._home(ctx)
        if not folder.is_ours(books.place, ctx.spec):
            raise TemporaryError("ClusterMissing", "The cluster's books do not exist yet.")
        with folder.alone(books.place):
            if _is_at_work(books):
                return
            seen = _look(ctx, home, books)
            _write(books, {"wanted": _digest(ctx.spec), "asked": time.time()})
            if commands := _commands(ctx.spec, seen):
                _start(ctx, home, books, commands)

    @guarded
    def remove(self, ctx: StepContext) -> None:
        """Forget what was asked; users and account go with the database."""
        names.check_cluster(ctx.spec)
        books = accounting_books.of(self._settings, ctx.spec)
        if folder.is_ours(books.place, ctx.spec):
            _path(books).unlink(missing_ok=True)

    def _home(self, ctx: StepContext) -> ClusterFolder:
        return folder.of(self._settings.clusters, ctx.spec)


def _is_there(account: AccountSpec) -> bool:
    """Whether the account is to be a user: slurmctld finds no uid of one that is made later."""
    return account.active and unix.user(account.name) is not None


def _commands(spec: ClusterSpec, seen: Seen) -> str:
    return "".join(f"{' '.join(words)}\n" for words in seen.commands(spec, seen.leaving(spec)))


def _look(ctx: StepContext, home: ClusterFolder, books: Books) -> Seen:
    if not home.conf.exists() or not tells_accounting(home.conf.read_text(encoding="utf-8")):
        raise TemporaryError("AccountingStarting", "Slurm is not told of its accounting yet.")
    command = [PROGRAM, *users.SHOW]
    try:
        done = subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            timeout=20,
            env={"PATH": PATH, "SLURM_CONF": str(home.conf)},
            user=books.store.uid,
            group=books.store.gid,
            extra_groups=(ctx.spec.gid,),
        )
    except subprocess.SubprocessError as error:
        raise TemporaryError("AccountingDown", "slurmdbd does not list its users.") from error
    there = [account.name for account in ctx.spec.accounts if _is_there(account)]
    return Seen.of(done.stdout, ctx.spec, there)


def _start(ctx: StepContext, home: ClusterFolder, books: Books, commands: str) -> None:
    store, path = books.store, books.root / "run" / "accounts.txt"
    files.write_atomic(path, commands.encode(), uid=store.uid, gid=store.gid)
    program = shutil.which(PROGRAM, path=PATH) or PROGRAM
    daemon = Daemon(
        PROGRAM,
        ("/bin/sh", "-c", 'exec "$0" -i -Q <"$1"', program, str(path)),
        store.uid,
        store.gid,
        _digest(ctx.spec),
        groups=(ctx.spec.gid,),
        environment=((BOOKS, str(books.root)), ("SLURM_CONF", str(home.conf))),
    )
    daemons.start(daemon, conf=None, log=books.root / "log")


def _is_at_work(books: Books) -> bool:
    found = accounting_store.search(str(books.root), books.store.uid)
    return any(one.role == PROGRAM for one in found)


def _digest(spec: ClusterSpec) -> str:
    active = sorted(f"{account.kind} {account.name}" for account in spec.accounts if _is_there(account))
    return slurm_plan.digest(slurm_account(spec).encode(), *map(str.encode, active))


def _path(books: Books) -> Path:
    return books.root / "accounts.json"


def _read(books: Books) -> JSONDict | None:
    return files.read_json(_path(books))


def _write(books: Books, record: JSONDict) -> None:
    files.write_json(_path(books), record)
