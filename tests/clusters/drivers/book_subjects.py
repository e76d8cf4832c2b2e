"""The steps of accounting as subjects of the driver contract, beside each other on one store."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable
from contextlib import suppress

from clusters.drivers.local import accounting_books, accounting_store, files
from clusters.drivers.local.accounting_books import Books
from clusters.drivers.slurm_probe import users
from clusters.provisioning.steps import AccountSpec, StepContext
from portal.lib.errors import TemporaryError
from tests.clusters.drivers.lab import Lab, until
from tests.clusters.drivers.subjects import LocalSubject
from tests.contract.driver_contract import drive_away, settle

CONCERNS = ("machines", "fabric", "accounting", "slurm")


def books_of(lab: Lab, ctx: StepContext) -> Books:
    """The books of a lab's cluster."""
    return accounting_books.of(lab.settings, ctx.spec)


def later(lab: Lab, ctx: StepContext) -> None:
    """As if a minute had passed since the users were seen."""
    path = books_of(lab, ctx).root / "accounts.json"
    files.write_json(path, {**(files.read_json(path) or {}), "seen": 0})


class AccountingSubject(LocalSubject):
    """The accounting step of a cluster that has no Slurm yet."""

    name = "accounting"

    def inventory(self) -> dict[str, object]:
        """The folder, the database with its user, and what runs."""
        books = books_of(self.lab, self.ctx)
        found: dict[str, object] = {}
        if books.root.exists():
            found["folder"] = sorted(
                path.name for path in books.root.iterdir() if path.name != "accounts.json"
            )
        if books.conf.exists():
            found["slurmdbd.conf"] = books.conf.stat().st_mtime_ns
        with suppress(TemporaryError):
            if accounting_books.is_there(books):
                found["database"] = books.name
        for one in accounting_store.search(str(books.root), books.store.uid):
            found[f"process {one.role}"] = one.record.pid
        return found

    def damage(self) -> None:
        """Drop the database's user."""
        books = books_of(self.lab, self.ctx)
        accounting_store.sql(books.store, f"DROP USER {books.name}@localhost;")

    def changed(self) -> StepContext:
        """The same cluster on other ports."""
        first = self.ctx.ports[0] + len(self.ctx.ports)
        return dataclasses.replace(self.ctx, ports=range(first, first + len(self.ctx.ports)))

    def impostor(self) -> Callable[[], object]:
        """A folder of somebody else's."""
        root = books_of(self.lab, self.ctx).root
        root.mkdir()
        (root / "theirs").write_text("keep me")
        return lambda: [(path.name, path.read_text()) for path in root.iterdir()]


class AccountsSubject:
    """The accounts step of one cluster, over and over."""

    def __init__(self, lab: Lab, ctx: StepContext) -> None:
        self.lab, self.ctx, self.step = lab, ctx, lab.site["accounts"]

    def fresh(self) -> None:
        """Slurm has none of our users."""
        drive_away(self.step, self.ctx)
        until(lambda: not self._at_work(), what="sacctmgr has ended")
        with suppress(subprocess.CalledProcessError):
            self.sacctmgr("remove", "account", "name=team-a")

    def users(self) -> dict[str, str]:
        """Those of the tenant's account, with their levels."""
        told = self.lab.slurm(
            self.ctx, "sacctmgr", "-nP", "show", "user", "withassoc", "format=user,adminlevel,account"
        )
        rows = [line.split("|") for line in told.splitlines()]
        return {name: level for name, level, account in rows if account == "team-a"}

    def sacctmgr(self, *words: str) -> None:
        """A change behind the driver's back."""
        self.lab.slurm(self.ctx, "sacctmgr", "-i", "-Q", *words)

    def inventory(self) -> dict[str, object]:
        """The users, as long as there is a record of them."""
        path = books_of(self.lab, self.ctx).root / "accounts.json"
        return dict(self.users()) if path.exists() else {}

    def damage(self) -> None:
        """Remove a member, a minute after it was seen last."""
        self.sacctmgr("remove", "user", f"name={self.ctx.spec.accounts[-1].name}")
        later(self.lab, self.ctx)

    def changed(self) -> StepContext:
        """One member more, who has an account already."""
        last = self.ctx.spec.accounts[-1]
        more = AccountSpec(f"{last.name}x", last.uid + 1, last.gid, "member", active=True)
        spec = dataclasses.replace(self.ctx.spec, accounts=(*self.ctx.spec.accounts, more))
        changed = dataclasses.replace(self.ctx, spec=spec)
        settle(self.lab.site["identity"], changed)
        return changed

    def impostor(self) -> Callable[[], object]:
        """Not of this step: its users stand in Slurm's own books, which are ours."""
        raise NotImplementedError

    def _at_work(self) -> bool:
        books = books_of(self.lab, self.ctx)
        found = accounting_store.search(str(books.root), books.store.uid)
        return any(one.role == users.PROGRAM for one in found)
