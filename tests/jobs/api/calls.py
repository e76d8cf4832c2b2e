"""How the generated tests call the operations about jobs."""

from __future__ import annotations

import uuid

from clusters.models import Cluster
from jobs.models import Job, Submission
from portal.lib.types import JSONDict
from tests.api.calls import Call
from tests.architecture.routes import ADMINS, MEMBERS, OWNERS, World
from tests.jobs.builders import SCRIPT, identity_for, make_job, make_submission
from tests.jobs.routes import (
    booked_of,
    cluster_of,
    job_of,
    limit_of,
    slurm,
    submission_of,
    template_of,
    view_of_owner,
)

JOBS = frozenset({"jobs"})
OUTPUT = frozenset({"jobs", "read"})


def job_body(world: World) -> JSONDict:
    """A small job."""
    return {"script": SCRIPT, "name": "by-api", "nodes": 1, "environment": {"STEPS": "3"}}


def ready_for_all(world: World) -> JSONDict:
    """A cluster in which every member has an account."""
    found = cluster_of(world)
    for role in ("owner", "admin", "member"):
        identity_for(Cluster.objects.get(pk=found["pk"]), world.people[role])
    return found


def _sent(world: World) -> Job:
    cluster = Cluster.objects.get(pk=cluster_of(world)["pk"])
    job = make_job(cluster, world.owner)
    made: Submission = make_submission(cluster, world.owner, state="accepted", job=job)
    Job.objects.filter(pk=job.pk).update(mark=made.mark)
    return job


def sent_job_of(world: World) -> JSONDict:
    """A job that was submitted here."""
    return {"pk": world.make(_sent, world).pk}


def selected(world: World) -> JSONDict:
    """The same on several jobs."""
    return {"act": "cancel", "jobs": [str(job_of(world)["pk"])]}


def kept_template(world: World) -> JSONDict:
    """A template of the tenant."""
    return {"pk": template_of(world)["key"]}


def template_body() -> JSONDict:
    """A template under a name of its own."""
    nodes = {"name": "nodes", "label": "Nodes", "default": "1", "kind": "number"}
    script = "#!/bin/bash\n#SBATCH --nodes={{nodes}}\necho hello\n"
    return {"name": f"train {uuid.uuid4().hex[:8]}", "script": script, "parameters": [nodes]}


WANTED = {"on_start": False, "on_end": True, "on_failure": True, "by_mail": False, "in_browser": True}
CALLS: dict[str, Call] = {
    "jobs_list": Call(query="?who=everyone"),
    "cluster_queue": Call(cluster_of),
    "limits_list": Call(cluster_of),
    "qos_list": Call(booked_of),
    "limits_set": Call(limit_of, body=lambda world: {"gpus": 4}, roles=ADMINS, scopes=frozenset({"people"})),
    "usage": Call(),
    "usage_idle": Call(),
    "views_list": Call(),
    "view_save": Call(body=lambda world: {"name": "mine", "query": "state=running"}, ok=201),
    "view_rename": Call(view_of_owner, body=lambda world: {"name": "other"}, roles=OWNERS),
    "view_delete": Call(view_of_owner, roles=OWNERS, ok=204),
    "notifications_list": Call(),
    "notifications_read": Call(ok=204),
    "notification_settings": Call(),
    "notification_settings_change": Call(body=lambda world: WANTED),
    "job": Call(job_of),
    "job_events": Call(job_of),
    "job_act": Call(job_of, body=lambda world: {"act": "cancel"}, roles=ADMINS, scopes=JOBS, around=slurm),
    "jobs_act": Call(body=selected, roles=MEMBERS, scopes=JOBS, around=slurm),
    "job_cancel": Call(job_of, roles=ADMINS, scopes=JOBS, around=slurm),
    "job_output": Call(job_of, roles=ADMINS, scopes=OUTPUT, around=slurm),
    "job_output_find": Call(job_of, query="?text=loss", roles=ADMINS, scopes=OUTPUT, around=slurm),
    "job_sent": Call(sent_job_of, roles=ADMINS, scopes=OUTPUT),
    "job_submit": Call(ready_for_all, body=job_body, roles=MEMBERS, scopes=JOBS, ok=201, around=slurm),
    "jobs_submit_many": Call(
        ready_for_all,
        body=lambda world: {"jobs": [job_body(world), job_body(world)]},
        roles=MEMBERS,
        scopes=JOBS,
        around=slurm,
    ),
    "job_check": Call(ready_for_all, body=job_body, roles=MEMBERS, scopes=JOBS),
    "templates_list": Call(),
    "template_create": Call(body=lambda world: template_body(), roles=MEMBERS, scopes=JOBS, ok=201),
    "template": Call(kept_template),
    "template_change": Call(kept_template, body=lambda world: template_body(), roles=ADMINS, scopes=JOBS),
    "template_delete": Call(kept_template, roles=ADMINS, scopes=JOBS, ok=204),
    "submissions_list": Call(),
    "submission": Call(submission_of),
    "submission_again": Call(submission_of, roles=OWNERS, scopes=JOBS, ok=201, around=slurm),
}
