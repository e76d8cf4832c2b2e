"""Accounting for a lab's cluster: a MariaDB of this machine in its folder, and its release's slurmdbd."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.contract.slurmrest.places import PATH, Root

if TYPE_CHECKING:
    from tests.contract.slurmrest.lab import SlurmLab

ACCOUNT = "research"
LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libmariadb.so.3")
CONF = """\
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd}
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket={root}/run/munge.sock
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={root}/etc/jwt.key
PidFile={root}/run/slurmdbd.pid
LogFile={root}/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={store}
StorageUser=slurm
StoragePass=slurm
StorageLoc=books
"""
USERS = """\
CREATE OR REPLACE USER 'slurm'@'%' IDENTIFIED BY 'slurm';
CREATE OR REPLACE USER 'slurm'@'localhost' IDENTIFIED BY 'slurm';
GRANT ALL ON *.* TO 'slurm'@'%';
GRANT ALL ON *.* TO 'slurm'@'localhost';
"""


def lines(lab: SlurmLab) -> str:
    """What slurm.conf says instead of having no accounting."""
    return (
        "AccountingStorageType=accounting_storage/slurmdbd\n"
        "AccountingStorageHost=127.0.0.1\n"
        f"AccountingStoragePort={lab.port + 2}\n"
        f"AccountingStoragePass={lab.root}/run/munge.sock\n"
        "AccountingStorageTRES=gres/gpu\n"
    )


def start(lab: SlurmLab) -> None:
    """Both daemons, and the cluster, an account and its members in the books."""
    _start_store(lab)
    conf = lab.root / "etc" / "slurmdbd.conf"
    conf.write_text(CONF.format(root=lab.root, dbd=lab.port + 2, store=lab.port + 3))
    conf.chmod(0o600)
    os.chown(conf, *lab.place.uid_of("slurm"))
    (lab.root / "bin" / "slurmdbd").symlink_to(lab.place.program("slurmdbd"))
    lent = {}
    if isinstance(lab.place, Root):
        # slurmdbd of the newer releases dies with their own client library: "Number of columns ... (=0)"
        (lab.root / "lib").mkdir()
        shutil.copy(LIBRARY.resolve(), lab.root / "lib" / LIBRARY.name)
        lent["LD_LIBRARY_PATH"] = str(lab.root / "lib")
    lab.spawn("slurmdbd", "-D", user="slurm", **lent)
    lab.wait(lambda: listens(lab.port + 2), what="slurmdbd")
    add = ["sacctmgr", "--immediate", "--quiet", "add"]
    lab.command(*add, "cluster", lab.name)
    lab.command(*add, "account", ACCOUNT, f"Cluster={lab.name}", "Description=research")
    names = ",".join(member.name for member in lab.members)
    lab.command(*add, "user", names, f"Account={ACCOUNT}", f"Cluster={lab.name}")


def _start_store(lab: SlurmLab) -> None:
    data, user = lab.root / "mysql", "slurm"
    data.mkdir()
    shutil.chown(data, user, user)
    making = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={user}", "--skip-test-db"]
    making += ["--auth-root-authentication-method=normal"]
    done = subprocess.run(making, env={"PATH": PATH}, check=False, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    first = lab.root / "etc" / "first.sql"  # read before the first connection
    first.write_text(USERS)
    options = [f"--datadir={data}", f"--socket={data}/socket", f"--port={lab.port + 3}", f"--user={user}"]
    options += [f"--pid-file={data}/pid", f"--init-file={first}", "--bind-address=127.0.0.1"]
    options += ["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--performance-schema=OFF"]
    options += ["--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=900"]
    with (lab.root / "log" / "mariadbd.out").open("wb") as output:
        lab.processes["mariadbd-0"] = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "/usr/sbin/mariadbd", "--no-defaults", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={"PATH": PATH},
            cwd=lab.root,
            start_new_session=True,
        )
    lab.wait(lambda: listens(lab.port + 3), what="MariaDB")


def listens(port: int) -> bool:
    """Whether something takes connections there."""
    with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port), timeout=1)):
        return True
    return False
