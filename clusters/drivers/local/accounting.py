"""The accounting step: one store for the site, and in it a database and a slurmdbd for each cluster.

It comes before Slurm's, because a slurmctld that starts for the first time asks slurmdbd; it holds Slurm up
in nothing: without it jobs run, and slurmctld is told of it as soon as it is there.
"""

from __future__ import annotations

import datetime as dt

from clusters.drivers.local import (
    accounting_books,
    accounting_export,
    accounting_store,
    daemons,
    files,
    folder,
    names,
)
from clusters.drivers.local.accounting_books import Books
from clusters.drivers.local.guard import guarded
from clusters.drivers.local.settings import LocalSettings
from clusters.drivers.local.slurmconf import DATABASE, FIRST_NODE
from clusters.provisioning.steps import ClusterSpec, Difference, Observed, StepContext
from portal.lib.errors import PermanentError

DOWN = "AccountingDown"


class AccountingStep:
    """local: a database and its user, and slurmdbd, started again when it died or its settings changed."""

    name = "accounting"
    component = "Slurm"
    needs: tuple[str, ...] = ("machines", "fabric")
    deadline = dt.timedelta(minutes=5)

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return (f"slurmdbd of cluster {spec.name}, with a database and a password of its own",)

    @guarded
    def observe(self, ctx: StepContext) -> Observed:
        """Look at the folder, the store, the database, the process and its port."""
        names.check_cluster(ctx.spec)
        books = accounting_books.of(self._settings, ctx.spec)
        if not books.root.exists():
            left = gone(books).root.exists() or accounting_store.search(str(books.root), books.store.uid)
            return Observed(exists=True, reason="Removing") if left else Observed(exists=False)
        if not folder.is_ours(books.place, ctx.spec):
            return Observed(exists=False, reason="NameTaken", message=str(folder.name_taken("a folder")))
        if not accounting_store.is_up(books.store):
            return Observed(exists=True, reason=DOWN, message="The store of the accounting does not run.")
        _check_ports(ctx)
        if differing := accounting_books.differences(self._settings, ctx, books):
            message = "The database is being made."
            return Observed(exists=True, reason="AccountingDiffers", message=message, differences=differing)
        return self._compare(ctx, books)

    def _compare(self, ctx: StepContext, books: Books) -> Observed:
        facts = {"port": str(ctx.ports[DATABASE]), "database": books.name}
        home = folder.of(self._settings.clusters, ctx.spec)
        if not daemons.accepts(home.munge_socket):
            # slurmdbd starts with Slurm: there is nothing yet whose books it could keep
            return Observed(exists=True, in_sync=True, ready=True, facts=facts)
        found = accounting_books.running(books)
        if not found:
            message = "slurmdbd does not run. Jobs run, and Slurm keeps what it has to tell for a while."
            down = (Difference(accounting_books.DAEMON, "", "running", "not running"),)
            return Observed(exists=True, reason=DOWN, message=message, differences=down, facts=facts)
        if not accounting_books.is_current(ctx, books, found[0]):
            message = "slurmdbd runs with older settings."
            return Observed(exists=True, reason="ConfigurationChanged", message=message, facts=facts)
        if not daemons.listens(ctx.ports[DATABASE]):
            message = "slurmdbd starts."
            return Observed(exists=True, in_sync=True, reason="AccountingStarting", message=message)
        return Observed(exists=True, in_sync=True, ready=True, facts=facts)

    @guarded
    def apply(self, ctx: StepContext) -> None:
        """Start the store, make what is missing in it, start slurmdbd where Slurm is there already."""
        names.check(ctx.spec, system_user=self._settings.system_user)
        _check_ports(ctx)
        books = accounting_books.of(self._settings, ctx.spec)
        accounting_store.ensure(books.store)
        folder.claim(books.place, ctx.spec)
        with folder.alone(books.place):
            files.ensure_folder(books.root, mode=0o711)
            accounting_books.write(self._settings, ctx, books)
        accounting_books.wake(self._settings, ctx)

    @guarded
    def remove(self, ctx: StepContext) -> None:
        """Write down what it holds, end slurmdbd, drop the database, remove the folder."""
        names.check_cluster(ctx.spec)
        books = accounting_books.of(self._settings, ctx.spec)
        if books.root.exists():
            if not folder.is_ours(books.place, ctx.spec):
                return
            accounting_store.ensure(books.store)
            with folder.alone(books.place):
                accounting_export.export(books, cluster=ctx.spec.name)
                accounting_books.drop(books)
                # moved first: half a folder without its mark would be nobody's
                files.remove_tree(gone(books).root)
                books.root.rename(gone(books).root)
        files.remove_tree(gone(books).root)
        accounting_export.forget(books.store, days=self._settings.kept_days)


def gone(books: Books) -> Books:
    """The same while they are being removed."""
    return Books(books.root.with_name(f".gone-{books.root.name}"), books.store)


def _check_ports(ctx: StepContext) -> None:
    if len(ctx.ports) <= FIRST_NODE:
        raise PermanentError(
            "NotEnoughPorts", "The cluster has no block of ports.", hint="Set the local site's port range."
        )
