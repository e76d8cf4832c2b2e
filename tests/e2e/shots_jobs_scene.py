"""Four tenants for pictures of lists: with no job, one, 25 and 10,000, named as people name them.

Started as a program in the environment of a small portal; prints the facts of each tenant and the session.
"""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections import Counter
from pathlib import Path

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from django.conf import settings  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from clusters.clients.slurmrest.rules import Bounds, Share  # noqa: E402
from clusters.models import Cluster, SlurmEndpoint  # noqa: E402
from jobs.history.models import JobSteps, JobUse  # noqa: E402
from jobs.models import Job, JobEvent  # noqa: E402
from portal.lib import clock  # noqa: E402
from portal.lib.types import JSONDict  # noqa: E402
from tenants.models import Role, User  # noqa: E402
from tests.builders import make_member, make_tenant, make_user, sign_in  # noqa: E402
from tests.clusters import builders as clusters  # noqa: E402
from tests.clusters import fakes  # noqa: E402
from tests.jobs import builders as jobs  # noqa: E402
from tests.jobs.rules import builders as rules  # noqa: E402

COUNTS = (0, 1, 25, 10_000)
NAMES = (
    "<img src=x onerror=alert(1)>",
    "train-7b",
    "\u6570\u636e-\u8bad\u7ec3 \U0001f680",
    'it\'s "v2"',
    "a|b",
    "site:run/7",
    "$(id)",
    "n" * 300,
    "llama eval of the second checkpoint of november",
)
REASONS = ("Resources", "Priority", "QOSMaxGRESPerUser", "AssocMaxJobsLimit", "Dependency")
ENDS = ("COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "NODE_FAIL")
BATCH = 1000


def one_of(number: int, count: int, cluster: Cluster, people: list[User], now: dt.datetime) -> Job:
    """Job number `number` of `count`: the newest wait, some run, the rest ended over thirty days."""
    owner = people[number % len(people)]
    identity = jobs.identity_for(cluster, owner)
    share = number / max(count, 2)
    state = "RUNNING" if share < 0.2 else "PENDING" if share < 0.4 else ENDS[number % len(ENDS)]
    submitted = now - dt.timedelta(minutes=7 + 30 * 24 * 60 * share)
    started = None if state == "PENDING" else submitted + dt.timedelta(minutes=2)
    ended = None if state in {"PENDING", "RUNNING"} else submitted + dt.timedelta(minutes=30 + number % 900)
    home = f"{jobs.HOMES}/{identity.name}"
    return Job(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        identity=identity,
        owner=owner,
        slurm_job_id=1_000_000 + number,
        name=NAMES[number % len(NAMES)],
        user_name=identity.name,
        partition="train",
        account="research",
        qos="normal",
        state=state,
        reason=REASONS[number % len(REASONS)] if state == "PENDING" else "",
        nodes="n0" if state == "RUNNING" else "",
        node_count=1,
        cpus=8,
        gpus=number % 3,
        memory_mib=16384,
        time_limit_minutes=(60, 1440, None)[number % 3],
        exit_status=None if ended is None else int(state == "FAILED"),
        submit_time=submitted,
        eligible_time=submitted,
        start_time=started,
        end_time=ended,
        working_directory=home,
        stdout_path=f"{home}/slurm-{1_000_000 + number}.out",
        observed_at=now,
    )


def told_of(rows: list[Job]) -> None:
    """What accounting knows of jobs that ended: use and steps."""
    JobUse.objects.bulk_create(
        JobUse(
            tenant_id=row.tenant_id,
            job=row,
            elapsed_seconds=3600,
            cpus=8,
            cpu_seconds=288.0 * (number % 100),
            memory_mib=120 * (number % 130),
            memory_given_mib=16384,
            idle_cpu_seconds=28800 - 288.0 * (number % 100),
            cpu_percent=float(number % 100),
            memory_percent=120 * (number % 130) / 163.84,
            gpu_percent=float(number % 97) if number % 4 else None,
            ended_at=row.end_time,
        )
        for number, row in enumerate(rows)
        if row.end_time is not None
    )


def steps_of(row: Job) -> None:
    """A script that started two programs."""
    start = int((row.start_time or row.submit_time).timestamp())
    state = "RUNNING" if row.end_time is None else row.state
    shared: JSONDict = {"start": start, "state": state, "nodes": 1, "tasks": 1}
    over: JSONDict = {"end": start + 1500, "elapsed": 1500, "cpu_seconds": 9000.0, "memory_mib": 12_288}
    wrong: JSONDict = {
        "state": "FAILED",
        "exit_status": 3,
        "elapsed": 4,
        "cpu_seconds": 3.5,
        "memory_mib": 96,
    }
    steps = [
        {**shared, "step": "batch", "name": "batch"},
        {**shared, "step": "extern", "name": "extern"},
        {**shared, **over, **wrong, "step": "0", "name": "preprocess", "tasks": 16},
        {**shared, "step": "1", "name": NAMES[0], "tasks": 64, "nodes": 8, **(over if row.end_time else {})},
    ]
    JobSteps.objects.create(tenant_id=row.tenant_id, job=row, steps=steps, count=len(steps))


def tenant_with(count: int, ada: User, rui: User) -> JSONDict:
    """A tenant with one cluster and so many jobs; the facts for addresses."""
    tenant = make_tenant(f"Lab {count}", owner=ada, slug=f"lab-{count}")
    make_member(tenant, Role.MEMBER, user=rui)
    cluster = jobs.make_slurm_cluster(tenant, name="gpu-a")
    now = clock.now()
    rows = [one_of(number, count, cluster, [ada, rui], now) for number in range(count)]
    Job.objects.bulk_create(rows, batch_size=BATCH)
    jobs.keep_books(cluster)
    told_of(rows)
    states = Counter(row.state for row in rows)
    SlurmEndpoint.objects.filter(cluster=cluster).update(
        jobs_running=states["RUNNING"], jobs_pending=states["PENDING"], observed_at=now
    )
    facts = {"tenant": tenant.slug, "cluster": cluster.pk, "node": "n0", "partition": "train"}
    if count == 0:
        return facts
    jobs.fill_nodes(cluster)
    budget = Bounds(minutes={"gres/gpu": 2_400_000}, together={"gres/gpu": 16}, wall_minutes=7 * 1440)
    used = (Share(account="research", used_seconds={"gres/gpu": 112_442_400.0}),)
    rules.make_rules(cluster, jobs.identity_for(cluster, ada).name, bounds=budget, shares=used)
    facts["job"] = rows[0].pk
    steps_of(rows[0])
    JobEvent.objects.create(job=rows[0], at=now, state=rows[0].state)
    ended = next((row for row in rows if row.state == "FAILED"), None)
    if ended is not None:
        steps_of(ended)
        facts |= {"job failed": ended.pk, "job waiting": next(r.pk for r in rows if r.state == "PENDING")}
        facts["array"] = (jobs.make_large_array if count > 100 else jobs.make_array)(cluster, ada).pk
    return facts


def furnish() -> JSONDict:
    """All four, and who looks at them."""
    ada = make_user("Ada Lindqvist", subject="ada", email="ada@example.org")
    rui = make_user("Rui Carvalho", subject="rui", email="rui@example.org")
    clusters.make_site(machines=2 * len(COUNTS))
    facts = {str(count): tenant_with(count, ada, rui) for count in COUNTS}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    session = sign_in(Client(), ada).cookies[settings.SESSION_COOKIE_NAME].value
    texts = {count: {name: str(value) for name, value in told.items()} for count, told in facts.items()}
    return {"facts": texts, "sessions": {"ada": session}}


if __name__ == "__main__":
    assert not Job.objects.exists(), "the scene is made in a database of its own"
    with tempfile.TemporaryDirectory() as outside:
        fakes.install(Path(outside))
        answer = furnish()
    print(json.dumps(answer))
