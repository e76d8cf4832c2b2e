"""One run of the portal: start everything in order, watch it, and leave nothing behind at the end."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from clusters.drivers.local import accounting_store, teardown
from portal.lib.errors import FreeholdError
from portal.run import copying, layout, parts, people, ports, records, stores
from portal.run.console import Console
from portal.run.layout import CannotRun, Layout
from portal.run.supervisor import Supervisor, privileges

TICK = 0.05
START_SECONDS = 120.0
STOP_SECONDS = 60.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """A signal asked us to stop while something was awaited."""


@contextmanager
def only_one(where: Layout) -> Iterator[None]:
    """Hold the data folder for this process; the kernel lets go when it ends, however it ends."""
    where.data.mkdir(parents=True, exist_ok=True)
    layout.folder(where.supervisor, 0o700)
    with (where.supervisor / "lock").open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise CannotRun(f"The portal of {where.data} is running (process {file.read()}).") from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


class Session:
    """Starts, watches and stops the parts."""

    def __init__(self, where: Layout) -> None:
        self._layout = where
        self._console = Console(where.log)
        self._records = records.Records(where)
        self._signal: signal.Signals | None = None
        self._supervisor: Supervisor | None = None
        self._noted = 0.0

    def run(self) -> int:
        """Until a signal comes: 0. When starting fails, or the supervisor dies: 1."""
        for number in SIGNALS:
            signal.signal(number, self._remember)
        try:
            with only_one(self._layout):
                return self._guarded()
        except CannotRun as error:
            self._console.say(str(error))
            return 1

    def _guarded(self) -> int:
        try:
            self._start()
            self._wait(lambda: not self._running().is_running())
            self._console.say("The supervisor ended unexpectedly. Its log is run.log in the log folder.")
        except Interrupted:
            self._console.say("Stopping ...")
            return 0
        finally:
            self._stop()
        return 1

    def _start(self) -> None:
        self._recover()
        chosen = ports.choose(self._layout)
        environment = parts.environment(self._layout, chosen)
        copying.copy(self._layout)
        stores.initialise(self._layout)
        own = [*parts.stores(self._layout), *parts.portal(self._layout, chosen)]
        self._console.follow("run", "setup", *(part.name for part in own))
        self._supervisor = Supervisor(self._layout, own)
        self._supervisor.start(environment)
        self._console.say("Starting PostgreSQL and Redis")
        self._wait(lambda: stores.answer(self._layout), START_SECONDS, "PostgreSQL and Redis did not start.")
        self._console.say("Preparing database, static files and demo data")
        self._prepare(environment)
        self._console.say("Starting the portal")
        self._supervisor.start_pages()
        issuer, web = environment["OIDC_ISSUER"], environment["PUBLIC_URL"]
        for address in (f"{issuer}/.well-known/openid-configuration", f"{web}/health/"):
            self._wait(lambda url=address: _answers(url), START_SECONDS, f"{address} did not answer.")  # type: ignore[misc]
        self._supervisor.start_rest()
        self._warm_up()
        self._announce(environment, chosen)

    def _warm_up(self) -> None:
        """Start what the first cluster would else wait for; without it that cluster says what is missing."""
        with suppress(FreeholdError, OSError, subprocess.SubprocessError):
            accounting_store.ensure(accounting_store.of(self._layout.data, "slurm"))

    def _recover(self) -> None:
        """End what a crashed run left. Slurm's daemons stay: the local driver finds them by its record."""
        layout.prepare(self._layout)
        self._layout.announcement.unlink(missing_ok=True)
        left = [*self._records.load(), *records.of_folder(self._layout, slurm=False)]
        if count := records.end(left, waiting=self._console.pump):
            self._console.say(f"Ended {count} processes that an interrupted run had left")
        stores.clear_stale_lock(self._layout)

    def _prepare(self, environment: dict[str, str]) -> None:
        setup = parts.Part("setup", (parts.PYTHON, "-m", "portal.run.prepare"), "portal")
        with (self._layout.log / "setup.log").open("ab") as log:
            child = subprocess.Popen(
                [*privileges(setup), *setup.command],
                env=environment,
                cwd=self._layout.app,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._wait(lambda: child.poll() is not None, START_SECONDS, "Preparing took too long.")
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
        self._console.pump()
        if child.returncode:
            raise CannotRun("Preparing failed; the lines above say why. Nothing was lost.")

    def _announce(self, environment: dict[str, str], chosen: ports.Ports) -> None:
        web, issuer = environment["PUBLIC_URL"], environment["OIDC_ISSUER"]
        facts = {
            "url": web,
            "issuer": issuer,
            "ports": {"web": chosen.web, "oidc": chosen.oidc},
            "data": str(self._layout.data),
            "supervisor": os.getpid(),
            "pids": self._running().pids(),
        }
        layout.write_private(self._layout.announcement, json.dumps(facts, indent=1), layout.user())
        self._console.say("Ready")
        self._console.plain(f"\n  Freehold is at {web}\n\n  Sign in without a password as one of {issuer}:")
        for person in people.PEOPLE:
            self._console.plain(f"    {person.subject:<6} {person.name:<16} {person.role}")
        self._console.plain(
            f"\n  Data: {self._layout.data} (`make clean` removes it). Ctrl-C ends everything.\n"
        )

    def _stop(self) -> None:
        if self._supervisor:
            self._supervisor.ask_to_stop()
            limit = time.monotonic() + STOP_SECONDS
            while self._supervisor.is_running() and time.monotonic() < limit:
                self._tick()
        left = [*self._records.load(), *records.of_folder(self._layout, slurm=False)]
        records.end(left, waiting=self._console.pump)
        try:
            teardown.stop_all(self._layout.data)
        except FreeholdError as error:
            self._console.say(error.message)  # what still runs is ended below
        if count := records.end(records.of_folder(self._layout, slurm=True), waiting=self._console.pump):
            self._console.say(f"Ended {count} more processes")
        self._console.pump()
        self._layout.announcement.unlink(missing_ok=True)
        self._records.forget()
        self._console.close()
        self._console.say("Everything has ended")

    def _wait(self, done: Callable[[], bool], seconds: float = 0, otherwise: str = "") -> None:
        """Show logs until `done`. Raises Interrupted by a signal, CannotRun after the deadline (0: none)."""
        limit = time.monotonic() + seconds
        while not done():
            if self._signal:
                raise Interrupted
            if seconds and time.monotonic() > limit:
                raise CannotRun(otherwise)
            if self._supervisor and not self._supervisor.is_running() and seconds:
                raise CannotRun("The supervisor ended. See run.log and supervisord.err in the log folder.")
            self._tick()

    def _tick(self) -> None:
        self._console.pump()
        if self._supervisor and time.monotonic() - self._noted > 1:
            self._noted = time.monotonic()
            own = filter(None, [self._supervisor.pid])
            self._records.update([*own, *self._supervisor.pids().values()])
        time.sleep(TICK)

    def _running(self) -> Supervisor:
        if not self._supervisor:
            raise CannotRun("Nothing was started.")
        return self._supervisor

    def _remember(self, number: int, _: FrameType | None) -> None:
        self._signal = signal.Signals(number)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  (our own loopback address)
            return bool(answer.status == 200)
    except OSError:
        return False
