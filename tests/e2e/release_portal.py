"""A small portal with a real observer and a real output reader, for clusters that tests start themselves."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.contract.slurmrest.accounts import Account
from tests.contract.slurmrest.lab import SlurmLab
from tests.e2e import hands, small_portal
from tests.e2e.hands import Hands
from tests.e2e.node_provider import Provider
from tests.e2e.waiting import until
from tests.fixtures import servers

NO_PROVIDER = Provider(issuer="http://127.0.0.1:9")  # nobody signs in: sessions are made by the hands
SLUG = "aurora"
OWNER, RESEARCHER, OBSERVER = "ada", "rui", "observer"
# argument 1: a folder that is /etc for the command behind it
WITH_ETC = 'mount --bind "$1" /etc && shift && exec "$@"'
# what programs read of /etc beside the users
ALSO = ("hosts", "nsswitch.conf", "localtime", "ld.so.cache")


@dataclass(frozen=True, slots=True)
class ReleasePortal:
    """Where it listens, its hands, and the user files that its output reader sees."""

    url: str
    hands: Hands
    etc: Path

    @contextmanager
    def adopted(self, lab: SlurmLab, *, name: str = "", url: str = "") -> Iterator[str]:
        """The lab as a ready cluster of the tenant for the duration of the block; its id.

        The members of the lab are the researcher, the owner and the observer, in this order. Its name is that
        of its release and its address the lab's own, unless others are given.
        """
        self._know(lab.members)
        people = zip((RESEARCHER, OWNER, OBSERVER), lab.members, strict=True)
        slurm = {
            "url": url or lab.url,
            "version": lab.versions[0],
            "key": lab.key.hex(),
            "homes": str(lab.root / "home"),
            "accounts": {who: [one.name, one.uid, one.gid] for who, one in people},
        }
        called = name or lab.release
        cluster = str(self.hands.do("adopt", slug=SLUG, name=called, slurm=slurm)["cluster"])
        until(
            lambda: self.hands.do("observed", cluster=cluster)["at"], "the observer has looked", seconds=120
        )
        try:
            yield cluster
        finally:
            self.hands.do("part", cluster=cluster)

    def _know(self, members: Iterable[Account]) -> None:
        """Accounts of a newer release are users of its root only; to the output reader they must be users."""
        for file in ("passwd", "group"):
            known = (self.etc / file).read_text().splitlines()
            lines = {one.line(file, Path("/nonexistent")).rstrip("\n") for one in members}
            fresh = self.etc / f"{file}.new"
            fresh.write_text("\n".join([*known, *sorted(lines - set(known))]) + "\n")
            fresh.replace(self.etc / file)


@contextmanager
def running(stores: servers.Servers, folder: Path) -> Iterator[ReleasePortal]:
    """Web process, observer and output reader, with a tenant of two, until the block ends."""
    url, socket = small_portal.address(), folder / "output.sock"
    etc = _user_files(folder / "etc")
    with ExitStack() as stack:
        portal = stack.enter_context(
            small_portal.running(
                url,
                NO_PROVIDER,
                stores,
                folder,
                operators=f"{NO_PROVIDER.issuer}|otto",
                variables={"FREEHOLD_OUTPUT_SOCKET": str(socket)},
            )
        )
        acts = stack.enter_context(hands.working("tests.e2e.acting_slurm", portal.environment))
        acts.do("found", subject=OWNER, slug=SLUG)
        acts.do("join", subject=RESEARCHER, slug=SLUG)
        stack.enter_context(_child("observe", portal.environment, folder))
        reader = ["--portal-user", user.pw_name] if (user := servers.unprivileged_user()) else []
        before = ("unshare", "--mount", "--propagation", "private", "sh", "-c", WITH_ETC, "sh", str(etc))
        alive = stack.enter_context(
            _child("read_outputs", portal.environment, folder, str(socket), *reader, before=before)
        )
        until(lambda: alive() and socket.exists(), "the output reader listens", seconds=120)
        yield ReleasePortal(url, acts, etc)


def _user_files(folder: Path) -> Path:
    """A copy: useradd puts new files in the place of /etc's, which would end a mount over one of them."""
    folder.mkdir()
    for name in ("passwd", "group", *ALSO):
        if (found := Path("/etc") / name).exists():
            shutil.copy(found, folder / name)
    return folder


@contextmanager
def _child(
    command: str,
    environment: Mapping[str, str],
    folder: Path,
    *arguments: str,
    before: tuple[str, ...] = (),
) -> Iterator[Callable[[], bool]]:
    """A management command that runs until the block ends; gives what fails the test once it does not."""
    log = folder / f"{command}.log"
    with log.open("wb") as output:
        child = subprocess.Popen(
            [*before, sys.executable, "manage.py", command, *arguments],
            cwd=small_portal.ROOT,
            env=environment,
            stdout=output,
            stderr=output,
        )

    def alive() -> bool:
        assert child.poll() is None, log.read_text(errors="replace")[-3000:]
        return True

    try:
        yield alive
        alive()
    finally:
        child.terminate()
        child.wait(timeout=60)
