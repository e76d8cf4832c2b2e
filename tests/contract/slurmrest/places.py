"""Where a release of Slurm runs: on this machine itself, or inside a root folder of a newer Debian.

Nothing is left behind: a root is used read-only, and what is mounted over it is seen only by the processes
of one cluster and ends with them.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from clusters.clients.slurmrest.dialects import SPOKEN
from setup import slurm_roots
from tests.contract.slurmrest.accounts import Account, accounts, invented

RELEASES = ("bookworm", *slurm_roots.RELEASES)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# argument 1: the root, 2: the cluster's folder, which is seen at the same path inside
MOUNTS = r"""
set -eu
root=$1 lab=$2
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir "$root$lab"
mount --bind "$lab" "$root$lab"
for file in passwd group; do mount --bind "$lab/etc/$file" "$root/etc/$file"; done
mount --bind /etc/hosts "$root/etc/hosts"
echo ready
read -r _
"""


@dataclass
class Place:
    """This machine, with Debian 12's Slurm. Its accounts are real ones of the machine while a lab runs."""

    release: str = "bookworm"
    root: Path = Path("/")
    # newest first, of those that the portal speaks
    versions: tuple[str, ...] = ("v0.0.38",)
    rest_plugins: str = "v0.0.38,v0.0.37,v0.0.36"
    rest_books: str = ",dbv0.0.38"
    before: tuple[str, ...] = ()  # what stands before each command that runs here

    @contextmanager
    def opened(self, folder: Path, count: int) -> Iterator[list[Account]]:
        """Accounts for a cluster with this folder, for the duration of the block."""
        with accounts(count) as made:
            yield made

    def program(self, name: str) -> str:
        """The path of one of Slurm's programs, as it is inside."""
        for candidate in (f"usr/sbin/{name}-wlm", f"usr/sbin/{name}", f"usr/bin/{name}"):
            if os.path.lexists(self.root / candidate):
                return f"/{candidate}"
        raise AssertionError(f"{name} is not installed in {self.root}")

    def uid_of(self, user: str) -> tuple[int, int]:
        """uid and gid of a system account."""
        entry = pwd.getpwnam(user)
        return entry.pw_uid, entry.pw_gid

    def command(
        self, command: Sequence[str], *, ids: tuple[int, int], cwd: Path | str, dies_with_us: bool = False
    ) -> list[str]:
        """The command as a user, as an argument list of this machine. The environment is the caller's."""
        who = ["setpriv", f"--reuid={ids[0]}", f"--regid={ids[1]}", "--clear-groups"]
        if dies_with_us:
            who += ["--pdeathsig", "KILL"]
        return [*self.before, *who, "env", "-C", str(cwd), *command]


@dataclass
class Root(Place):
    """A newer Debian's root. Its accounts are known inside only."""

    handles: list[int] = field(default_factory=list)

    @contextmanager
    def opened(self, folder: Path, count: int) -> Iterator[list[Account]]:
        """See Place; outside of the block nothing runs inside."""
        made = invented(count)
        for name in ("passwd", "group"):
            lines = (self.root / "etc" / name).read_text()
            (folder / "etc" / name).write_text(lines + "".join(one.line(name, folder) for one in made))
        with ExitStack() as stack:
            handle = _namespace(self.root, folder)
            stack.callback(os.close, handle)
            self.before = ("nsenter", f"--mount=/proc/{os.getpid()}/fd/{handle}", "chroot", str(self.root))
            yield made

    def uid_of(self, user: str) -> tuple[int, int]:
        """See Place."""
        for line in (self.root / "etc" / "passwd").read_text().splitlines():
            name, _, uid, gid, *_ = line.split(":")
            if name == user:
                return int(uid), int(gid)
        raise AssertionError(f"{self.root} has no user {user}")


def place_of(release: str) -> Place:
    """Where a release runs. A root that is missing fails the test: it is never skipped."""
    if release == "bookworm":
        return Place()
    root = slurm_roots.find().get(release)
    assert root is not None, f"The root with {release}'s Slurm is missing. Make it with: make slurm-roots"
    served = slurm_roots.api_versions(root)
    spoken = tuple(version for version in SPOKEN if version in served)
    assert spoken, f"{release} serves {', '.join(served)}, of which the portal speaks none"
    return Root(release=release, root=root, versions=spoken, rest_plugins="slurmctld", rest_books=",slurmdbd")


def _namespace(root: Path, folder: Path) -> int:
    """A handle of a mount namespace in which the root is ready for a cluster; it ends with its last user."""
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNTS, "sh", str(root)]
    with subprocess.Popen(
        [*command, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin and child.stdout and child.stderr
        if child.stdout.readline() != "ready\n":
            raise AssertionError(f"No mount namespace for {root}: {child.stderr.read()}")
        handle = os.open(f"/proc/{child.pid}/ns/mnt", os.O_RDONLY)
        child.stdin.close()
    return handle


def environment_of(conf: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Of a command that speaks to a cluster."""
    return {"PATH": PATH, "SLURM_CONF": str(conf), **more}
