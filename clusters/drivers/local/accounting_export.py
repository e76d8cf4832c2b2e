"""Keeps what slurmdbd knew of a cluster's jobs when the cluster goes: a table in a file, for some time."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

from clusters.drivers.local import accounting_store, files
from clusters.drivers.local.accounting_books import Books
from clusters.drivers.local.accounting_store import Store

DAY = 24 * 3600
STATES = (
    "'PENDING','RUNNING','SUSPENDED','COMPLETED','CANCELLED','FAILED','TIMEOUT','NODE_FAIL','PREEMPTED',"
    "'BOOT_FAIL','DEADLINE','OUT_OF_MEMORY'"
)
COLUMNS = {
    "job": "j.id_job",
    "array_job": "j.id_array_job",
    "array_task": "IF(j.id_array_task >= 4294967294, '', j.id_array_task)",
    "user": "COALESCE(a.user, j.id_user)",
    "account": "j.account",
    "partition": "j.`partition`",
    "name": "j.job_name",
    "state": f"ELT((j.state & 255) + 1, {STATES})",
    "wait_status": "j.exit_code",
    "submitted": "j.time_submit",
    "started": "j.time_start",
    "ended": "j.time_end",
    "nodes": "j.nodelist",
    "asked": "j.tres_req",
    "given": "j.tres_alloc",
}


def folder(store: Store) -> Path:
    """Where the files lie."""
    return store.root / "kept"


def export(books: Books, *, cluster: str) -> None:
    """Write the jobs of a cluster to a file, if it ever had one: straight from the store, without slurmdbd.

    Tab-separated with a head line, times as epoch seconds, TRES by number as Slurm keeps them.
    """
    table = f"{cluster}_job_table"
    known = f"information_schema.tables WHERE table_schema = '{books.name}' AND table_name = '{table}'"
    if accounting_store.count(books.store, known) != 1:
        return
    users = f"LEFT JOIN {books.name}.`{cluster}_assoc_table` a ON a.id_assoc = j.id_assoc"
    rows = accounting_store.sql(
        books.store,
        "SELECT "  # noqa: S608 -- all names are ours
        + ", ".join(COLUMNS.values())
        + f" FROM {books.name}.`{table}` j {users} WHERE NOT j.deleted ORDER BY j.time_submit, j.id_job;",
    )
    if rows:
        text = "\n".join(("\t".join(COLUMNS), *rows)) + "\n"
        files.ensure_folder(folder(books.store), mode=0o700)
        files.write_atomic(folder(books.store) / f"{cluster}.tsv.gz", gzip.compress(text.encode()))


def forget(store: Store, *, days: int) -> None:
    """Remove files that were kept long enough."""
    oldest = time.time() - days * DAY
    for path in folder(store).glob("*.tsv.gz"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
