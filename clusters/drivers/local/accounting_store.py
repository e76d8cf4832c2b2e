"""The one MariaDB of a local site, in which each cluster's slurmdbd has a database of its own.

It listens on a Unix socket only. Root alone administers it, known by the socket's credentials; every slurmdbd
comes with a user and a password of its own and sees no other cluster's database.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clusters.drivers.local import daemons, files, folder, slurm_plan
from clusters.drivers.local.daemons import PATH, ROLE, VERSION, Daemon
from clusters.drivers.local.folder import ClusterFolder
from portal.lib import processes
from portal.lib.errors import PermanentError, TemporaryError
from portal.lib.processes import ProcessRecord

BOOKS = "FREEHOLD_ACCOUNTING"  # in the environment of each process of accounting: the folder it belongs to
SERVER = "mariadbd"
PROGRAMS = (SERVER, "mariadb", "slurmdbd", "sacctmgr", "sacct")
MISSING = "AccountingMissing"
SHARE = Path("/usr/share/mysql")
TABLES = ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")
# nobody comes by network, so the accounts for that are not kept
ONLY_LOCAL = "DELETE FROM global_priv WHERE Host <> 'localhost' OR User = '';\n"
START = "ALTER USER root@localhost IDENTIFIED VIA unix_socket;\n"
# a store for a few tenants' books beside everything else on one machine: 50 MiB in all
SMALL = (
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M",
    "--innodb-log-buffer-size=2M",
    "--innodb-temp-data-file-path=ibtmp1:1M:autoextend",
    "--aria-pagecache-buffer-size=1M",
    "--key-buffer-size=1M",
    "--table-open-cache=400",
    "--max-connections=200",
    "--performance-schema=OFF",
    "--skip-log-bin",
)
TOLD = (
    "--skip-networking",
    "--skip-symbolic-links",
    "--local-infile=0",
    # a new cluster's tables in half the time; what a loss of power takes, the portal has in rows of its own
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=0",
    "--sync-frm=0",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-lock-wait-timeout=900",  # slurmdbd asks for it
)


@dataclass(frozen=True, slots=True)
class Store:
    """Paths below <data>/accounting, and as whom the server runs."""

    root: Path
    uid: int
    gid: int

    @property
    def data(self) -> Path:
        """What the server keeps."""
        return self.root / "mariadb"

    @property
    def socket(self) -> Path:
        """Where clients meet it."""
        return self.root / "run" / "sql.sock"

    @property
    def log(self) -> Path:
        """What the processes print."""
        return self.root / "log"


@dataclass(frozen=True, slots=True)
class Found:
    """A process of accounting."""

    role: str
    version: str
    books: str
    record: ProcessRecord = field(repr=False)


def of(data: Path, slurm_user: str) -> Store:
    """The store of a data folder, whether or not it exists. Raises PermanentError NotInstalled."""
    return Store(data / "accounting", *slurm_plan.ids_of(slurm_user))


def check_programs() -> None:
    """Raises PermanentError AccountingMissing when this machine lacks a program."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if missing:
        raise PermanentError(
            MISSING,
            f"This machine lacks {', '.join(missing)}, so jobs run and their use is not kept.",
            hint="Install slurmdbd, mariadb-server-core and mariadb-client-core, then retry the step.",
        )


def is_up(store: Store) -> bool:
    """Whether it takes connections."""
    return daemons.accepts(store.socket)


def ensure(store: Store) -> None:
    """Make the store and start it. Raises TemporaryError when it does not listen at once."""
    check_programs()
    _furnish(store)
    with folder.alone(ClusterFolder(store.root)):
        if not store.data.is_dir():
            _make(store)
        if not search(str(store.root), store.uid):
            _start(store)
    if not daemons.until(lambda: is_up(store), seconds=1.5):
        raise TemporaryError("AccountingStarting", "The store of the accounting starts.")


def sql(store: Store, text: str) -> list[str]:
    """Lines that the server answers to root. Raises TemporaryError AccountingDown."""
    command = ["mariadb", "--no-defaults", "--batch", "--skip-column-names", f"--socket={store.socket}"]
    try:
        done = subprocess.run(
            command,
            input=text,
            check=True,
            capture_output=True,
            text=True,
            timeout=20,
            env={"PATH": PATH, "HOME": "/"},
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise TemporaryError("AccountingDown", "The store of the accounting does not answer.") from error
    return done.stdout.splitlines()


def count(store: Store, where: str) -> int:
    """How many rows there are of a table under a condition; both made of our own names only."""
    (answer,) = sql(store, f"SELECT COUNT(*) FROM {where};")  # noqa: S608 -- as said
    return int(answer)


def search(books: str, uid: int) -> list[Found]:
    """The processes whose environment names this folder; a prefix that ends in / finds all below it.

    They run as Slurm's user, which no job does: so nobody else can look like one.
    """
    found: list[Found] = []
    for pid in processes.all_pids():
        with suppress(OSError):
            if processes.real_ids(pid)[0] != uid:
                continue
            environment = processes.environment_of(pid)
            mine = environment.get(BOOKS, "")
            fits = mine.startswith(books) if books.endswith("/") else mine == books
            if mine and fits and processes.session_of(pid) == pid:
                record = processes.record(pid, environment=f"{BOOKS}={mine}")
                found.append(Found(environment.get(ROLE, ""), environment.get(VERSION, ""), mine, record))
    return found


def end(found: Iterable[Found], *, seconds: float = 6) -> None:
    """End processes, the server last. Raises TemporaryError when one stays."""
    left = sorted(found, key=lambda one: one.role == SERVER)
    for is_server in (False, True):
        records = [one.record for one in left if (one.role == SERVER) is is_server]
        daemons.signal_all(records, signal.SIGTERM)
        if stubborn := daemons.wait_gone(records, seconds=seconds / 2):
            daemons.signal_all(stubborn, signal.SIGKILL)
            if daemons.wait_gone(stubborn, seconds=1):
                raise TemporaryError("StillStopping", "A program of the accounting still ends.")


def stop_all(data: Path) -> int:
    """End every process of accounting below a data folder; returns how many. Keeps all data."""
    root = data / "accounting"
    if not (root / "log").is_dir():
        return 0
    uid = (root / "log").stat().st_uid
    found = [*search(str(root), uid), *search(f"{root}/", uid)]
    end(found)
    return len(found)


def _furnish(store: Store) -> None:
    files.ensure_folder(store.root, mode=0o711)
    files.ensure_folder(store.root / "clusters", mode=0o711)
    files.ensure_folder(store.log, mode=0o700, uid=store.uid, gid=store.gid)
    # 0700: whoever cannot enter cannot even knock
    files.ensure_folder(store.socket.parent, mode=0o700, uid=store.uid, gid=store.gid)


def _make(store: Store) -> None:
    """The server's own tables, in one move: a crash leaves a draft that is thrown away."""
    draft = store.root / ".new"
    files.remove_tree(draft)
    files.ensure_folder(draft, mode=0o700, uid=store.uid, gid=store.gid)
    text = "".join((SHARE / name).read_text(encoding="utf-8", errors="replace") for name in TABLES)
    done = subprocess.run(
        [
            shutil.which(SERVER, path=PATH) or SERVER,
            "--no-defaults",
            "--bootstrap",
            f"--datadir={draft}",
            *SMALL,
        ],
        input=f"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n{text}\n{ONLY_LOCAL}".encode(),
        check=False,
        capture_output=True,
        timeout=25,
        env={"PATH": PATH, "HOME": "/"},
        cwd="/",
        user=store.uid,
        group=store.gid,
        extra_groups=(),
        umask=0o077,
    )
    if done.returncode:
        raise TemporaryError("LocalMachine", "MariaDB could not make its tables.")
    draft.rename(store.data)


def _start(store: Store) -> None:
    first = store.root / "start.sql"
    files.write_atomic(first, START.encode(), mode=0o644)
    with suppress(FileNotFoundError):
        store.socket.unlink()  # of one that was killed; none runs, and we hold the lock
    program = shutil.which(SERVER, path=PATH) or SERVER
    argv = (
        *(program, "--no-defaults", f"--datadir={store.data}", f"--socket={store.socket}"),
        *(f"--pid-file={store.socket.parent}/sql.pid", f"--tmpdir={store.socket.parent}"),
        *(f"--init-file={first}", *SMALL, *TOLD),
    )
    version = slurm_plan.digest(*map(os.fsencode, argv))
    environment = ((BOOKS, str(store.root)), ("HOME", "/"))
    server = Daemon(SERVER, argv, store.uid, store.gid, version, environment=environment)
    daemons.start(server, conf=None, log=store.log)
