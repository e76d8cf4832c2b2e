"""The books of one local cluster: its database, and the slurmdbd that keeps them."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from clusters.drivers.local import accounting_store, daemons, files, folder, slurm_plan, telling
from clusters.drivers.local.accounting_store import BOOKS, Found, Store
from clusters.drivers.local.daemons import PATH, Daemon
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.settings import LocalSettings
from clusters.drivers.local.slurmconf import CONTROLLER, DATABASE, tells_accounting
from clusters.provisioning.steps import ClusterSpec, Difference, StepContext
from portal.lib.errors import TemporaryError

DAEMON = "slurmdbd"
CONF = """\
# Written by Freehold; changes are overwritten.
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={slurm_user}
AuthType=auth/munge
AuthInfo=socket={home}/run/munge.socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={home}/keys/jwt.key
CommunicationParameters=NoInAddrAny
PidFile={books}/run/slurmdbd.pid
LogFile={books}/log/slurmdbd.log
DebugLevel=info
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={name}
StoragePass={password}
StorageLoc={name}
"""


@dataclass(frozen=True, slots=True)
class Books:
    """Paths below <data>/accounting/clusters/<external name>."""

    root: Path
    store: Store

    @property
    def place(self) -> ClusterFolder:
        """The same folder, for its mark and its lock."""
        return ClusterFolder(self.root)

    @property
    def conf(self) -> Path:
        """slurmdbd.conf; slurmdbd looks for it beside what SLURM_CONF names."""
        return self.root / "slurmdbd.conf"

    @property
    def password(self) -> Path:
        """Of the database's user."""
        return self.root / "password"

    @property
    def name(self) -> str:
        """Of the database and of its user."""
        return f"fh{self.root.name.removeprefix('.gone-').removeprefix('c-')}"


def of(settings: LocalSettings, spec: ClusterSpec) -> Books:
    """The books of a cluster, whether or not they exist. Raises PermanentError NotInstalled."""
    store = accounting_store.of(settings.data, settings.slurm_user)
    return Books(store.root / "clusters" / spec.name, store)


def is_there(books: Books) -> bool:
    """Whether the database and its user exist. Raises TemporaryError AccountingDown."""
    schemas, users = "information_schema.schemata WHERE schema_name", "mysql.global_priv WHERE User"
    return (
        accounting_store.count(books.store, f"{schemas} = '{books.name}'")
        == 1
        == (accounting_store.count(books.store, f"{users} = '{books.name}'"))
    )


def write(settings: LocalSettings, ctx: StepContext, books: Books) -> None:
    """Make the database, its user and slurmdbd's configuration; what is right stays."""
    for path in (books.root / "log", books.root / "run"):
        files.ensure_folder(path, mode=0o700, uid=books.store.uid, gid=books.store.gid)
    if not books.password.exists():
        files.write_atomic(books.password, secrets.token_hex(24).encode())
    if not is_there(books):
        password = books.password.read_text(encoding="ascii")
        accounting_store.sql(
            books.store,
            f"CREATE DATABASE IF NOT EXISTS {books.name};"
            f"CREATE OR REPLACE USER {books.name}@localhost IDENTIFIED BY '{password}';"
            f"GRANT ALL ON {books.name}.* TO {books.name}@localhost;",
        )
    text = _conf(settings, ctx, books)
    if not is_written(settings, ctx, books):
        files.write_atomic(books.conf, text, mode=0o600, uid=books.store.uid, gid=books.store.gid)


def is_written(settings: LocalSettings, ctx: StepContext, books: Books) -> bool:
    """Whether slurmdbd's configuration is as it should be."""
    try:
        return books.conf.read_bytes() == _conf(settings, ctx, books)
    except FileNotFoundError:
        return False


def differences(settings: LocalSettings, ctx: StepContext, books: Books) -> tuple[Difference, ...]:
    """Of the database, its user and slurmdbd's configuration, which holds a password and is not shown."""
    found = tuple(telling.of_file(books.conf, _conf(settings, ctx, books), is_secret=True))
    return found if is_there(books) else (telling.missing(f"database {books.name} with its user"), *found)


def running(books: Books) -> list[Found]:
    """The cluster's slurmdbd; none or one."""
    found = accounting_store.search(str(books.root), books.store.uid)
    return [one for one in found if one.role == DAEMON]


def is_current(ctx: StepContext, books: Books, found: Found) -> bool:
    """Whether it runs with the present configuration."""
    return found.version == _version(ctx, books)


def wake(settings: LocalSettings, ctx: StepContext) -> bool:
    """Start slurmdbd where its books are made and Slurm's keys are there; True when it listens.

    slurmctld asks it when it starts for the first time, so that moment is worth waiting for.
    """
    books, home = of(settings, ctx.spec), folder.of(settings.clusters, ctx.spec)
    if not folder.is_ours(books.place, ctx.spec) or not daemons.accepts(home.munge_socket):
        return False
    if not accounting_store.is_up(books.store) or not is_written(settings, ctx, books):
        return False
    with folder.alone(books.place):
        found = running(books)
        accounting_store.end(one for one in found if not is_current(ctx, books, one))
        if not running(books):
            _start(ctx, books)
    return daemons.until(lambda: daemons.listens(ctx.ports[DATABASE]), seconds=1.5)


def is_told(ctx: StepContext, home: ClusterFolder, old: str) -> bool:
    """Whether slurm.conf names slurmdbd: where accounting is ready, and from then on.

    A slurmctld that lost it goes on, and starts again from what it saved of it; one that never saved
    anything starts without.
    """
    if "accounting" in ctx.facts:
        return True
    is_saved = (home.root / "state" / "assoc_mgr_state").exists()
    return tells_accounting(old) and (is_saved or daemons.listens(ctx.ports[CONTROLLER]))


def drop(books: Books) -> None:
    """End the daemon and remove the database with its user; the store must answer."""
    accounting_store.end(accounting_store.search(str(books.root), books.store.uid))
    accounting_store.sql(
        books.store,
        f"DROP DATABASE IF EXISTS {books.name}; DROP USER IF EXISTS {books.name}@localhost;",
    )


def _start(ctx: StepContext, books: Books) -> None:
    if daemons.listens(ctx.ports[DATABASE]):
        raise TemporaryError("PortInUse", f"Something else listens on port {ctx.ports[DATABASE]}.")
    program = shutil.which(DAEMON, path=PATH) or DAEMON
    environment = (
        (BOOKS, str(books.root)),
        ("SLURM_CONF", str(books.root / "slurm.conf")),
        # the client library's own variable: slurmdbd.conf cannot name a socket
        ("MYSQL_UNIX_PORT", str(books.store.socket)),
    )
    store = books.store
    daemon = Daemon(
        DAEMON,
        (program, "-D"),
        store.uid,
        store.gid,
        _version(ctx, books),
        groups=(ctx.spec.gid,),
        environment=environment,
    )
    daemons.start(daemon, conf=None, log=books.root / "log")


def _version(ctx: StepContext, books: Books) -> str:
    return slurm_plan.digest(books.conf.read_bytes(), ctx.secrets.get("slurm-jwt-key", b""))


def _conf(settings: LocalSettings, ctx: StepContext, books: Books) -> bytes:
    password = books.password.read_text(encoding="ascii") if books.password.exists() else ""
    return CONF.format(
        port=ctx.ports[DATABASE],
        slurm_user=settings.slurm_user,
        home=folder.of(settings.clusters, ctx.spec).root,
        books=books.root,
        name=books.name,
        password=password,
    ).encode()
