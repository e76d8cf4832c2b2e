"""A private, real Slurm cluster in a temporary folder: munged, slurmctld, slurmd and slurmrestd.

Needs root, Debian's packages slurmctld slurmd slurmrestd slurm-client slurm-wlm-jwt-plugin munge, and for
the newer releases `make slurm-roots`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from joserfc import jwt
from joserfc.jwk import OctKey

from clusters.clients.slurmrest import tokens
from clusters.clients.slurmrest.client import RestGateway
from portal.lib.errors import OutsideError
from tests.contract.slurmrest import books
from tests.contract.slurmrest.accounts import Account
from tests.contract.slurmrest.places import Place, Root, environment_of, place_of
from tests.fixtures.ports import free_block

NODES, GPUS, CPUS, MEMORY = 2, 4, 8, 16000
MAX_ARRAY_SIZE = 1001  # one more than the largest index
CONF = """\
ClusterName={name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ctld}
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/run/munge.sock
CredType=cred/munge
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={root}/etc/jwt.key
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/run/ctld.pid
SlurmdPidFile={root}/run/slurmd-%n.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=5,batch_sched_delay=0,sched_min_interval=200000
MaxArraySize={most}
KillWait=2
SlurmdTimeout=300
MessageTimeout=5
ReturnToService=2
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
DefMemPerCPU=100
AccountingStorageType=accounting_storage/none
NodeName={name}-n[1-{nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cpus} \
Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory} Gres=gpu:a100:{gpus} \
State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES DefaultTime=10 MaxTime=1-0 State=UP
PartitionName=gpu Nodes=ALL DefaultTime=10 MaxTime=12:00:00 State=UP
"""


@dataclass
class SlurmLab:
    """A running cluster, its key, and accounts that may submit."""

    root: Path
    name: str
    port: int
    members: list[Account]
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    place: Place = field(default_factory=Place)
    more: str = ""  # lines that are added to slurm.conf
    accounting: bool = False

    @property
    def url(self) -> str:
        """slurmrestd."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def conf(self) -> Path:
        """slurm.conf."""
        return self.root / "etc" / "slurm.conf"

    @property
    def release(self) -> str:
        """Debian's name for it: one of RELEASES."""
        return self.place.release

    @property
    def versions(self) -> tuple[str, ...]:
        """The API versions that both its slurmrestd and the portal speak, newest first."""
        return self.place.versions

    def token(self, user: str, *, lifetime: int = 600) -> str:
        """A token for anybody, root too, as the cluster's key makes it; the portal's own is more careful.

        With less than no lifetime it has ended.
        """
        claims = {"sun": user, "iat": int(time.time()), "exp": int(time.time()) + lifetime}
        return jwt.encode({"alg": "HS256", "typ": "JWT"}, claims, OctKey.import_key(self.key))

    def gateway(
        self, member: int = 0, *, key: bytes | None = None, timeout: float = 20.0, version: str = ""
    ) -> RestGateway:
        """Slurm as a member sees it; with another key for a token that should be refused."""
        account = self.members[member].name
        spoken = version or self.versions[0]
        return RestGateway(self.url, spoken, account, lambda: tokens.mint(account, key or self.key), timeout)

    def home(self, member: int = 0) -> Path:
        """A folder that the member may write into."""
        return self.root / "home" / self.members[member].name

    def command(self, *command: str) -> str:
        """A Slurm command as root, to look behind the gateway's back."""
        return self.run(command).stdout

    def run(
        self,
        command: Sequence[str],
        *,
        member: int | None = None,
        cwd: Path | None = None,
        variables: Mapping[str, str] | None = None,
        text: str | None = None,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """sbatch, squeue, scontrol ... of this release, as a member or as root, with `text` as its input.

        Paths are the same inside and outside below the lab's folder. `variables` are its whole environment
        but for PATH, SLURM_CONF and, for a member, HOME and USER. Raises AssertionError when it fails.
        """
        who = None if member is None else self.members[member]
        known = {} if who is None else {"HOME": f"{self.root}/home/{who.name}", "USER": who.name}
        ids = (who.uid, who.gid) if who else (0, 0)
        folder = cwd or (self.root if member is None else self.home(member))
        done = subprocess.run(
            self.place.command(command, ids=ids, cwd=folder),
            env=environment_of(self.conf, {**known, **(variables or {})}),
            input=text,
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done

    def start(self) -> None:
        """Start all daemons and wait until the nodes are idle."""
        for folder in ("etc", "state", "spool", "log", "run", "bin", "home"):
            (self.root / folder).mkdir(exist_ok=True)
        self.write()
        run, log = self.root / "run", self.root / "log"
        munged = [f"--socket={run}/munge.sock", f"--key-file={self.root}/etc/munge.key", "--force"]
        munged += [f"--pid-file={run}/munged.pid", f"--seed-file={run}/seed", f"--log-file={log}/munged.log"]
        self.spawn("munged", "-F", *munged, user="slurm")
        until((run / "munge.sock").exists, what="munged")
        if self.accounting:
            books.start(self)
        self.start_controller()
        for index in range(1, NODES + 1):
            (self.root / "spool" / f"{self.name}-n{index}").mkdir()
            step = str(self.root / "bin" / "slurmstepd")
            self.spawn("slurmd", "-D", "-N", f"{self.name}-n{index}", "-f", str(self.conf), "-d", step)
        self.start_rest()
        until(self.is_idle, what="idle nodes")

    def start_controller(self) -> None:
        """slurmctld alone; also after one that was ended."""
        self.spawn("slurmctld", "-D", "-f", str(self.conf), user="slurm")

    def start_rest(self) -> None:
        """slurmrestd alone; also after one that was ended."""
        plugins = self.place.rest_plugins + (self.place.rest_books if self.accounting else "")
        rest = ["-f", str(self.conf), "-a", "rest_auth/jwt", "-s", plugins]
        # without SLURM_JWT munge is given the token, and every request is a plain 401
        self.spawn("slurmrestd", *rest, f"127.0.0.1:{self.port}", user="nobody", SLURM_JWT="daemon")

    def write(self) -> None:
        """Configuration, keys, and links under the names by which daemons believe that they are daemons."""
        etc = self.root / "etc"
        facts = {"nodes": NODES, "cpus": CPUS, "memory": MEMORY, "gpus": GPUS, "ctld": self.port + 1}
        facts["most"] = MAX_ARRAY_SIZE
        facts |= {"first": self.port + 10, "last": self.port + 9 + NODES}
        text = CONF.format(name=self.name, root=self.root, **facts) + self.more
        if self.accounting:
            text = text.replace("AccountingStorageType=accounting_storage/none\n", books.lines(self))
        self.conf.write_text(text)
        for index in range(GPUS):
            (self.root / f"nvidia{index}").symlink_to("/dev/null")
        gres = f"NodeName={self.name}-n[1-{NODES}] Name=gpu Type=a100 File={self.root}/nvidia[0-{GPUS - 1}]\n"
        (etc / "gres.conf").write_text(gres)
        if self.release != "bookworm":
            # else slurmd dies where there is no usable hierarchy of cgroups
            (etc / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        (etc / "jwt.key").write_bytes(self.key)
        (etc / "munge.key").write_bytes(secrets.token_bytes(128))
        slurm = self.place.uid_of("slurm")
        for path, mode in ((etc / "jwt.key", 0o600), (etc / "munge.key", 0o400), (etc, 0o755)):
            path.chmod(mode)
            os.chown(path, *slurm)
        for folder in ("state", "log", "run"):
            os.chown(self.root / folder, *slurm)
        for kind in ("munged", "slurmctld", "slurmd", "slurmstepd", "slurmrestd"):
            (self.root / "bin" / kind).symlink_to(self.place.program(kind))
        for member in self.members:
            home = self.root / "home" / member.name
            home.mkdir(mode=0o700)
            os.chown(home, member.uid, member.gid)

    def spawn(self, kind: str, *arguments: str, user: str = "root", **environment: str) -> None:
        """Start a daemon in the foreground."""
        number = len(self.processes)
        program = [str(self.root / "bin" / kind), *arguments]
        with (self.root / "log" / f"{kind}-{number}.out").open("wb") as output:
            self.processes[f"{kind}-{number}"] = subprocess.Popen(
                self.place.command(program, ids=self.place.uid_of(user), cwd=self.root, dies_with_us=True),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment_of(self.conf, environment),
                start_new_session=True,
            )

    def wait(self, condition: Callable[[], object], *, what: str) -> None:
        """Until it holds; a daemon that ends meanwhile fails the test."""

        def holds() -> object:
            self.check_alive()
            return condition()

        until(holds, what=what)

    def check_alive(self) -> None:
        """Raise AssertionError that names the daemons which ended."""
        died = [name for name, process in self.processes.items() if process.poll() is not None]
        assert not died, f"{died}: see {self.root}/log"

    def is_idle(self) -> bool:
        """All nodes answer."""
        self.check_alive()
        try:
            nodes = self.gateway().nodes()
        except OutsideError:
            return False
        return len(nodes) == NODES and all(node.is_usable for node in nodes)

    @contextmanager
    def without_controller(self) -> Iterator[None]:
        """slurmctld takes requests and does not answer for the duration of the block."""
        with self.hanging("slurmctld"):
            yield

    @contextmanager
    def hanging(self, kind: str) -> Iterator[None]:
        """A daemon takes requests and does not answer for the duration of the block."""
        (process,) = (p for name, p in self.processes.items() if name.startswith(kind))
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    @contextmanager
    def ended(self, kind: str) -> Iterator[None]:
        """slurmctld or slurmrestd has ended for the duration of the block; then it is started again."""
        (name,) = (name for name in self.processes if name.startswith(kind))
        process = self.processes.pop(name)
        process.terminate()
        process.wait(timeout=30)
        try:
            yield
        finally:
            {"slurmctld": self.start_controller, "slurmrestd": self.start_rest}[kind]()

    def stop(self) -> None:
        """End the daemons, and what jobs left: steps outlive slurmd, which waits for them."""
        self._end_steps()
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._end_steps()

    def _end_steps(self) -> None:
        daemons = {process.pid for process in self.processes.values()}
        for left in psutil.process_iter():
            with suppress(psutil.Error):
                is_step = left.environ().get("SLURM_CONF") == str(self.conf) and left.pid not in daemons
                if is_step or left.gids().real in {member.gid for member in self.members}:
                    left.kill()


@contextmanager
def slurm_lab(
    members: int = 2,
    *,
    release: str = "bookworm",
    more: str = "",
    accounting: bool = False,
    folder: Path | None = None,
) -> Iterator[SlurmLab]:
    """A cluster for the duration of the block; nothing of it is left afterwards.

    With a `folder` its files stay in there, for whoever made that to remove. `more` is added to slurm.conf.
    It has NODES nodes with GPUS GPUs of type a100, CPUS CPUs and MEMORY MiB each, and the partitions debug
    (default) and gpu. With accounting, slurmdbd and a MariaDB of its own are started too (3 to 5 s), and the
    members belong to the account books.ACCOUNT.
    """
    place = place_of(release)
    root = Path(
        tempfile.mkdtemp(prefix="fhlab-", dir=folder or ("/tmp" if isinstance(place, Root) else None))
    )
    root.chmod(0o755)  # jobs run from below it
    (root / "etc").mkdir()
    try:
        with place.opened(root, members) as made:
            name = f"lab{secrets.token_hex(3)}"
            port = free_block(10 + NODES).start
            lab = SlurmLab(root, name, port, made, place=place, more=more, accounting=accounting)
            try:
                lab.start()
                yield lab
            finally:
                lab.stop()
    finally:
        if folder is None:
            shutil.rmtree(root, ignore_errors=True)


def until(condition: Callable[[], object], *, seconds: float = 90, what: str = "condition") -> None:
    """Look again and again until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)
