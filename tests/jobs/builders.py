"""Builders of clusters that run jobs, and of jobs."""

from __future__ import annotations

import datetime as dt
import itertools
import uuid

from clusters.models import Cluster, IdentityKind, Node, Phase, SlurmIdentity, StepState, StepStatus
from clusters.services import identities
from jobs.history.models import JobUse
from jobs.job_templates.models import JobTemplate
from jobs.models import Inventory, Job, Partition, SavedView, Submission
from jobs.notify.models import JobNotice
from jobs.observer import lines
from jobs.services import requests
from jobs.services.capacity import view_of
from jobs.services.drafts import Typed, read_draft
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.ids import short_name
from tenants.models import Tenant, User
from tests.clusters.builders import make_cluster

SCRIPT = "#!/bin/bash\necho hello\n"
HOMES = "/clusters/c-test/home"
_numbers = itertools.count(1000)


def make_slurm_cluster(tenant: Tenant, *, name: str = "gpu-a", nodes: int = 2) -> Cluster:
    """A ready cluster with partition `train` of nodes with 8 CPUs, 32 GiB and 2 GPUs, seen a moment ago."""
    cluster = make_cluster(tenant, name=name, nodes=nodes, phase=Phase.READY)
    now = clock.now()
    know_accounts(cluster, homes=HOMES)
    Partition.objects.create(
        cluster=cluster,
        name="train",
        state="UP",
        is_default=True,
        max_time_minutes=7 * 24 * 60,
        default_time_minutes=60,
        total_nodes=nodes,
        total_cpus=8 * nodes,
        gpus=2 * nodes,
        gpu_models=["a100"],
        observed_at=now,
    )
    Node.objects.bulk_create(
        Node(
            cluster=cluster,
            name=f"n{number}",
            partitions=["train"],
            state="IDLE",
            available=True,
            cpus=8,
            memory_mib=32768,
            gpus=2,
            observed_at=now,
        )
        for number in range(nodes)
    )
    cluster.slurm.observed_at = now
    cluster.slurm.save(update_fields=["observed_at"])
    return cluster


def know_accounts(cluster: Cluster, *, homes: str) -> None:
    """What the identity step reports: all active accounts work, and where their homes are."""
    names = cluster.identities.filter(active=True).values_list("name", flat=True)
    StepState.objects.update_or_create(
        cluster=cluster,
        name="identity",
        defaults={
            "position": 4,
            "component": "Slurm",
            "status": StepStatus.READY,
            "facts": {"accounts": ",".join(names), "homes": homes},
        },
    )


def keep_books(cluster: Cluster) -> None:
    """Its site names a driver for accounting, and the step that makes Slurm's users has made them."""
    site = cluster.site
    site.drivers = {**site.drivers, "accounting": "local"}
    site.save(update_fields=["drivers"])
    StepState.objects.update_or_create(
        cluster=cluster,
        name="accounts",
        defaults={
            "position": 7,
            "component": "Slurm",
            "status": StepStatus.READY,
            "facts": {"account": cluster.tenant.slug},
        },
    )


def identity_for(cluster: Cluster, user: User) -> SlurmIdentity:
    """The account of a member, made if the member came after the cluster."""
    mine = cluster.identities.filter(kind=IdentityKind.MEMBER, membership__user=user, active=True)
    if not mine.exists():
        identities.sync(cluster)
        know_accounts(cluster, homes=HOMES)
    return mine.get()


def make_job(
    cluster: Cluster, owner: User | None = None, *, state: str = "RUNNING", **columns: object
) -> Job:
    """A job as last seen, submitted five minutes ago; of the owner's account in the cluster."""
    now = clock.now()
    identity = identity_for(cluster, owner) if owner is not None else None
    facts: JSONDict = {
        "slurm_job_id": next(_numbers),
        "name": "train-7b",
        "user_name": identity.name if identity else "someone",
        "partition": "train",
        "node_count": 1,
        "cpus": 4,
        "gpus": 2,
        "memory_mib": 16384,
        "time_limit_minutes": 60,
        "submit_time": now - dt.timedelta(minutes=5),
        "eligible_time": now - dt.timedelta(minutes=5),
        "start_time": None if state == "PENDING" else now - dt.timedelta(minutes=4),
        "end_time": None if state in {"PENDING", "RUNNING"} else now - dt.timedelta(minutes=1),
        "working_directory": f"{HOMES}/{identity.name}" if identity else "/",
        "observed_at": now,
    }
    facts["stdout_path"] = f"{facts['working_directory']}/slurm-{facts['slurm_job_id']}.out"
    return Job.objects.create(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        identity=identity,
        owner=owner,
        state=state,
        **(facts | columns),
    )


def make_array(cluster: Cluster, owner: User, *, name: str = "sweep", number: int | None = None) -> Job:
    """The line of an array of ten: 1 to 5 completed, 6 failed, 7 runs, 8 to 10 wait, two at a time."""
    number = number or next(_numbers) * 100
    of_array: JSONDict = {"name": name, "array_job_id": number}
    line = make_job(
        cluster, owner, state="PENDING", slurm_job_id=number, array_tasks="8-10%2", task_count=3, **of_array
    )
    states = {**dict.fromkeys(range(1, 6), "COMPLETED"), 6: "FAILED", 7: "RUNNING"}
    rows = [
        make_job(
            cluster,
            owner,
            state=state,
            slurm_job_id=number + task,
            array_task_id=task,
            is_line=False,
            nodes="n0",
            exit_status=1 if state == "FAILED" else 0,
            **of_array,
        )
        for task, state in states.items()
    ]
    lines.fold([line, *rows])
    line.refresh_from_db()
    return line


def make_large_array(cluster: Cluster, owner: User) -> Job:
    """The line of an array of 1,000 of which 120 have started, in many states."""
    number = next(_numbers) * 1000
    of_array: JSONDict = {"name": "grid-search", "array_job_id": number}
    text, rest = "120-999%40", 880
    line = make_job(
        cluster,
        owner,
        state="PENDING",
        reason="JobArrayTaskLimit",
        slurm_job_id=number,
        array_tasks=text,
        task_count=rest,
        **of_array,
    )
    states = ("COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY")
    rows = [
        make_job(
            cluster,
            owner,
            state="RUNNING" if task >= 80 else states[task % len(states)],
            slurm_job_id=number + task + 1,
            array_task_id=task,
            is_line=False,
            nodes=f"n{task % 2}",
            **of_array,
        )
        for task in range(120)
    ]
    lines.fold([line, *rows])
    line.refresh_from_db()
    return line


def fill_nodes(cluster: Cluster) -> None:
    """One node busy with a job on it, another drained with a reason; a reservation and licences."""
    now = clock.now()
    Inventory.objects.create(
        cluster=cluster,
        reservations=[
            {
                "name": "maintenance",
                "start": (now + dt.timedelta(days=2)).isoformat(),
                "end": (now + dt.timedelta(days=2, hours=4)).isoformat(),
                "nodes": "n[0-1]",
                "node_count": 2,
                "partition": "",
                "users": "root",
                "accounts": "",
                "flags": ["IGNORE_JOBS", "MAINT"],
            }
        ],
        licenses=[{"name": "matlab", "total": 20, "used": 5, "free": 15, "reserved": 0}],
        observed_at=now,
    )
    cluster.nodes.filter(name="n0").update(state="MIXED", gpus_used=2, cpus_used=4)
    cluster.nodes.filter(name="n1").update(state="IDLE+DRAIN", available=False, reason="GPU 1: Xid 79")
    Job.objects.filter(cluster=cluster, state="RUNNING", nodes="").update(nodes="n0")


def make_submission(
    cluster: Cluster, user: User, *, state: str = "checking", job: Job | None = None, **fields: str
) -> Submission:
    """A submit of the script above, sent a moment ago."""
    identity = identity_for(cluster, user)
    row_id = uuid.uuid4()
    draft = read_draft(Typed(fields={"name": "train-7b", **fields}, script=SCRIPT), view_of(cluster))
    home = f"{HOMES}/{identity.name}"
    request, origins = requests.assemble(draft, account=identity.name, home=home, mark=short_name(row_id))
    return Submission.objects.create(
        id=row_id,
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        user=user,
        identity=identity,
        mark=short_name(row_id),
        state=state,
        request=requests.to_json(request),
        origins=origins,
        script=request.script,
        sealed_environment=requests.seal_environment(request),
        sent_at=clock.now(),
        job=job,
        slurm_job_id=job.slurm_job_id if job else None,
    )


def make_view(
    tenant: Tenant, user: User, *, name: str = "my failures", query: str = "state=failed"
) -> SavedView:
    """A list of jobs that this member saved."""
    return SavedView.objects.create(tenant=tenant, user=user, name=name, query=query)


def make_template(tenant: Tenant, user: User, *, name: str = "train", shared: bool = True) -> JobTemplate:
    """A template of the tenant, or of this member, in its first version."""
    row = JobTemplate.objects.create(tenant=tenant, owner=None if shared else user, name=name, version=1)
    row.versions.create(number=1, script=SCRIPT, created_by=user)
    return row


def make_notice(job: Job, what: str = "failed") -> JobNotice:
    """The job's owner was told of it in the browser."""
    assert job.owner is not None
    return JobNotice.objects.create(
        tenant=job.tenant,
        user=job.owner,
        job=job,
        what=what,
        restarts=job.restarts,
        at=clock.now(),
        in_browser=True,
        by_mail=False,
    )


def make_use(job: Job, *, cpu_percent: float = 40.0, memory_percent: float = 55.0) -> JobUse:
    """What accounting told of a job that ran for an hour on 8 CPUs and 32 GiB."""
    elapsed, cpus, given = 3600, 8, 32768
    used = elapsed * cpus * cpu_percent / 100
    return JobUse.objects.create(
        tenant=job.tenant,
        job=job,
        elapsed_seconds=elapsed,
        cpus=cpus,
        cpu_seconds=used,
        memory_mib=int(given * memory_percent / 100),
        memory_given_mib=given,
        idle_cpu_seconds=elapsed * cpus - used,
        cpu_percent=cpu_percent,
        memory_percent=memory_percent,
        ended_at=job.end_time or clock.now(),
    )
