"""What needs Django of the submits' figures: `python -m tests.bench.submits_inside PORT RESULT`."""

from __future__ import annotations

import http.client
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
import psutil  # noqa: E402
from django.db import connection  # noqa: E402

from clusters.clients.slurmrest import tokens  # noqa: E402
from clusters.clients.slurmrest.client import RestGateway  # noqa: E402
from clusters.clients.slurmrest.models import SubmitRequest  # noqa: E402
from clusters.models import IdentityKind, Node, SlurmEndpoint  # noqa: E402
from jobs.observer import pace  # noqa: E402
from jobs.services import submissions  # noqa: E402
from jobs.services.drafts import Typed  # noqa: E402
from portal.lib import crypto  # noqa: E402
from tests.api.calls import make_token  # noqa: E402
from tests.bench import live, world  # noqa: E402
from tests.bench.submits import SETTINGS  # noqa: E402
from tests.builders import actor_for  # noqa: E402
from tests.clusters import fakes  # noqa: E402
from tests.contract.slurmrest.lab import NODES, slurm_lab  # noqa: E402
from tests.jobs.builders import know_accounts  # noqa: E402
from tests.jobs.long_queue import MORE, SCRIPT, LongQueue, long_queue, until  # noqa: E402

SECONDS = float(os.environ.get("BENCH_SUBMITS", "6"))
ALONE = "slurmrestd alone, the barest client"
AT_ONCE = 100  # jobs of one call
Ask = Callable[[], int]  # hands in some jobs and says how many
Way = Callable[[LongQueue], Ask]  # made once for each who asks
GROUPS = ("portal", "observer", "PostgreSQL", "slurmrestd", "slurmctld", "who asks")


def _seconds(queue: LongQueue, web: int, observer: int) -> dict[str, float]:
    """Processor time that everything that takes part has used so far."""
    daemons = {name.partition("-")[0]: one.pid for name, one in queue.lab.processes.items()}
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "portal": _seconds_of(web),
        "observer": _seconds_of(observer),
        "PostgreSQL": _seconds_of(_postgres()),
        "slurmrestd": _seconds_of(daemons["slurmrestd"]),
        "slurmctld": _seconds_of(daemons["slurmctld"]),
        "who asks": time.process_time() + children.ru_utime + children.ru_stime,
    }


def _postgres() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return psutil.Process(cursor.fetchone()[0]).ppid()


def _place(queue: LongQueue, *, apart: bool) -> None:
    """Everything may use all cores, or Slurm's daemons the first and all else the others."""
    first, *others = sorted(os.sched_getaffinity(psutil.Process().ppid()))
    everything = {first, *others}
    _bind([os.getpid(), _postgres()], set(others) if apart and others else everything)
    _bind([one.pid for one in queue.lab.processes.values()], {first} if apart else everything)


def _bind(pids: list[int], cores: set[int]) -> None:
    """These processes, their children and all threads of them; those to come do likewise."""
    for pid in pids:
        parent = psutil.Process(pid)
        for one in (parent, *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                for thread in one.threads():
                    os.sched_setaffinity(thread.id, cores)


def _seconds_of(pid: int) -> float:
    """With its children, those that ended among them."""
    parent = psutil.Process(pid)
    total = sum(parent.cpu_times()[:4])
    for child in parent.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            total += sum(child.cpu_times()[:4])
    return total


def main(port: int, result: Path) -> None:
    """All ways, one after the other, each with a Slurm that has no job yet."""
    with connection.cursor() as cursor:  # as people run it: tests do without
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            cursor.execute(f"ALTER SYSTEM SET {name} = on")
        cursor.execute("SELECT pg_reload_conf()")
    with tempfile.TemporaryDirectory() as outside_folder:
        fakes.install(Path(outside_folder))
        with (
            long_queue(console=False) as first,
            live.web(dict(os.environ), port, processes=2) as web,
            _observer() as observer,
        ):
            rows = _rows(first, port, result.parent, lambda queue: _seconds(queue, web, observer))
    result.write_text(json.dumps(rows), encoding="utf-8")


@contextmanager
def _observer() -> Iterator[int]:
    command = [sys.executable, "manage.py", "observe"]
    child = subprocess.Popen(command, cwd=world.ROOT, env=dict(os.environ), stdout=subprocess.DEVNULL)
    try:
        yield child.pid
    finally:
        child.terminate()
        child.wait(timeout=60)


def _rows(
    first: LongQueue, port: int, folder: Path, seconds: Callable[[LongQueue], dict[str, float]]
) -> list[list[str]]:
    ways: dict[str, Way] = {
        ALONE: _bare,
        "slurmrestd alone, the portal's client": _gateway,
        "sbatch": _sbatch,
        "the portal's services, in one process": _services,
        "API, a job a call": lambda queue: _api(queue, port),
        f"API, {AT_ONCE} jobs a call": lambda queue: _api(queue, port, AT_ONCE),
    }
    rates: dict[str, list[float]] = {}
    used: dict[str, dict[str, float]] = {}
    for name, way in ways.items():
        for many, apart in SETTINGS:
            with _anew(first, folder) as queue:
                _place(queue, apart=apart)
                rate, spent = _rate(queue, way, many, partial(seconds, queue))
                _place(queue, apart=False)
            rates.setdefault(name, []).append(rate)
            if not apart:
                used[name] = spent
            sys.stderr.write(f"  {name}, {many}{' apart' if apart else ''}: {rate:.0f}/s {spent}\n")
    return [
        [
            name,
            *(
                cell
                for rate, alone in zip(found, rates[ALONE], strict=True)
                for cell in (f"{rate:.0f}", f"{rate / alone:.2f}")
            ),
            *(f"{used[name][group]:.1f}" for group in GROUPS),
        ]
        for name, found in rates.items()
    ]


@contextmanager
def _anew(queue: LongQueue, folder: Path) -> Iterator[LongQueue]:
    """The same cluster with new daemons: Slurm keeps jobs that ended for a while, and they make it slower.

    What those before wrote is left until the end: ext4 gives away no inode that was deleted in the last
    minutes, and among thousands of them slurmctld would search twice as long as it works for a job.
    """
    with slurm_lab(members=3, more=MORE, folder=folder) as lab:
        cluster = queue.cluster
        with connection.cursor() as cursor:  # or the observer would end them while the next way is measured
            cursor.execute("TRUNCATE jobs_job CASCADE")
        for identity in cluster.identities.all():
            account = lab.members[0 if identity.kind == IdentityKind.OBSERVER else 1]
            identity.name, identity.uid, identity.gid = account.name, account.uid, account.gid
            identity.save(update_fields=["name", "uid", "gid"])
        know_accounts(cluster, homes=str(lab.root / "home"))
        sealed = crypto.seal(lab.key)
        SlurmEndpoint.objects.filter(cluster=cluster).update(url=lab.url, sealed_jwt_key=sealed)
        pace.poke(cluster)
        nodes = Node.objects.filter(cluster=cluster, name__startswith=lab.name)
        until(lambda: nodes.count() == NODES, seconds=120, what="the observer sees the new nodes")
        yield LongQueue(lab, cluster, queue.member)


def _rate(
    queue: LongQueue, way: Way, many: int, seconds: Callable[[], dict[str, float]]
) -> tuple[float, dict[str, float]]:
    """(jobs a second, processor ms for each by group)."""
    done: list[int] = []
    failures: list[BaseException] = []
    ready = threading.Barrier(many + 1)  # all have asked once
    stop = threading.Event()

    def work() -> None:
        try:
            ask = way(queue)
            ask()
            ready.wait()
            ready.wait()
            while not stop.is_set():
                done.append(ask())
        except BaseException as error:  # noqa: BLE001  # told by who waits
            failures.append(error)
            ready.abort()
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(many)]
    for thread in threads:
        thread.start()
    with suppress(threading.BrokenBarrierError):
        ready.wait()
        before, began = seconds(), time.perf_counter()
        ready.wait()
        stop.wait(SECONDS)
    stop.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    taken, after, count = time.perf_counter() - began, seconds(), sum(done)
    return count / taken, {name: round((after[name] - before[name]) / count * 1000, 2) for name in GROUPS}


def _request(queue: LongQueue) -> SubmitRequest:
    home = str(queue.lab.home(1))
    return SubmitRequest(
        script=SCRIPT, environment={"PATH": "/usr/bin:/bin"}, working_directory=home, name="rate"
    )


def _bare(queue: LongQueue) -> Ask:
    """A connection that is kept, a body and a token made before."""
    lab, account = queue.lab, queue.lab.members[1].name
    job = {"name": "rate", "environment": {"PATH": "/usr/bin:/bin"}}
    body = json.dumps({"script": SCRIPT, "job": {**job, "current_working_directory": str(lab.home(1))}})
    headers = {"Content-Type": "application/json", "X-SLURM-USER-NAME": account}
    headers["X-SLURM-USER-TOKEN"] = tokens.mint(account, lab.key)
    there = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=60)

    def ask() -> int:
        there.request("POST", f"/slurm/{lab.versions[0]}/job/submit", body, headers)
        answer = there.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return 1

    return ask


def _gateway(queue: LongQueue) -> Ask:
    gateway: RestGateway = queue.lab.gateway(1, timeout=60)

    def ask() -> int:
        gateway.submit(_request(queue))
        return 1

    return ask


def _sbatch(queue: LongQueue) -> Ask:
    script = queue.lab.root / f"{uuid.uuid4().hex}.sh"
    script.write_text(SCRIPT)

    def ask() -> int:
        queue.lab.run(["sbatch", "--parsable", str(script)], member=1)
        return 1

    return ask


def _services(queue: LongQueue) -> Ask:
    actor, cluster = actor_for(queue.member, queue.cluster.tenant), queue.cluster

    def ask() -> int:
        typed = Typed(fields={"name": "rate"}, script=SCRIPT)
        made = submissions.submit_job(actor=actor, cluster=cluster, typed=typed, key=uuid.uuid4())
        assert made.state == "accepted", made.message
        return 1

    return ask


_tokens: dict[uuid.UUID, str] = {}


def _api(queue: LongQueue, port: int, several: int = 0) -> Ask:
    cluster = queue.cluster
    if cluster.pk not in _tokens:
        _tokens[cluster.pk] = make_token(queue.member, cluster.tenant, ["jobs"])
    job = {"name": "rate", "script": SCRIPT}
    path = f"/api/v1/t/{cluster.tenant.slug}/clusters/{cluster.pk}/jobs/{'many/' if several else ''}"
    body = json.dumps({"jobs": [job] * several} if several else job)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {_tokens[cluster.pk]}"}
    there = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask() -> int:
        keyed = {**headers, "Idempotency-Key": str(uuid.uuid4())}
        try:
            there.request("POST", path, body, keyed)
            answer = there.getresponse()
        except ConnectionError:  # while it waited for the others to be ready
            there.close()
            there.request("POST", path, body, keyed)
            answer = there.getresponse()
        text = answer.read()
        assert answer.status == (200 if several else 201), text
        taken = json.loads(text)["accepted"] if several else 1
        assert taken == (several or 1), text
        return taken

    return ask


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
