"""Addresses of the jobs pages and rows of their live kinds, for the generated stranger test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from django.db import models

from clusters.models import Cluster
from jobs import outside
from jobs.job_templates.models import JobTemplate
from jobs.models import Job, SavedView, Submission
from jobs.output_reader.protocol import OutputChunk, OutputFound
from portal.lib.types import JSONDict
from tenants.models import Membership
from tests.architecture.routes import ADMINS, MEMBERS, OWNERS, Route, World
from tests.clusters.builders import make_site
from tests.jobs.builders import (
    SCRIPT,
    identity_for,
    keep_books,
    make_array,
    make_job,
    make_slurm_cluster,
    make_submission,
    make_template,
    make_view,
)
from tests.jobs.fakes import install
from tests.jobs.rules.builders import make_rules


def _cluster(world: World) -> Cluster:
    world.make(make_site)
    return world.make(make_slurm_cluster, world.tenant)


def _job(world: World) -> Job:
    return world.make(make_job, _cluster(world), world.owner)


def _submission(world: World) -> Submission:
    return world.make(make_submission, _cluster(world), world.owner, state="absent")


def _view(world: World) -> SavedView:
    return world.make(make_view, world.tenant, world.owner)


def cluster_of(world: World) -> JSONDict:
    return {"pk": _cluster(world).pk}


def limit_of(world: World) -> JSONDict:
    cluster = _cluster(world)
    keep_books(cluster)
    return {"pk": cluster.pk, "member": world.make(identity_for, cluster, world.owner).membership_id}


def booked_of(world: World) -> JSONDict:
    cluster = _cluster(world)
    keep_books(cluster)
    make_rules(cluster, identity_for(cluster, world.owner).name)
    return {"pk": cluster.pk}


def job_of(world: World) -> JSONDict:
    return {"pk": _job(world).pk}


def _array(world: World) -> Job:
    return world.make(make_array, _cluster(world), world.owner)


def array_of(world: World) -> JSONDict:
    return {"pk": _array(world).pk}


def submission_of(world: World) -> JSONDict:
    return {"pk": _submission(world).pk}


def view_of_owner(world: World) -> JSONDict:
    return {"pk": _view(world).pk}


def act_of(world: World) -> JSONDict:
    return {**job_of(world), "act": "cancel"}


told = {"on_end": "on", "in_browser": "on"}


def selection(world: World) -> JSONDict:
    return {"act": "cancel", "job": str(_job(world).pk)}


def _template(world: World) -> JobTemplate:
    return world.make(make_template, world.tenant, world.owner)


def template_of(world: World) -> JSONDict:
    return {"key": str(_template(world).pk)}


def template_typed() -> JSONDict:
    return {"name": f"train {uuid.uuid4().hex[:8]}", "script": SCRIPT}


def form(world: World) -> JSONDict:
    return {"key": lambda: str(uuid.uuid4()), "script": SCRIPT}


def quick(world: World) -> JSONDict:
    return {"key": lambda: str(uuid.uuid4()), "template": "progress", "cluster": str(_cluster(world).pk)}


@contextmanager
def slurm(world: World) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        install(patch)
        patch.setattr(
            outside, "read_output", lambda *args: OutputChunk(state="ok", size=3, offset=0, data=b"hi\n")
        )
        patch.setattr(outside, "find_output", lambda *args: OutputFound(state="missing"))
        yield


ROUTES: dict[str, Route] = {
    "jobs": Route(),
    "job-start": Route(roles=MEMBERS),
    "job-new": Route(cluster_of, method="post", data=form, roles=MEMBERS, around=slurm),
    "job-quick": Route(method="post", data=quick, roles=MEMBERS, around=slurm),
    "queue": Route(cluster_of),
    "limits": Route(cluster_of),
    "limit": Route(limit_of, method="post", data=lambda world: {"gpus": "4"}, roles=ADMINS),
    "usage": Route(),
    "usage-file": Route(),
    "usage-worst": Route(),
    "views": Route(method="post", data=lambda world: {"name": "mine", "query": "state=running"}),
    "view-rename": Route(view_of_owner, method="post", data=lambda world: {"name": "other"}, roles=OWNERS),
    "view-delete": Route(view_of_owner, method="post", roles=OWNERS),
    "job": Route(job_of),
    "job-act": Route(act_of, method="post", roles=ADMINS, around=slurm),
    "jobs-act": Route(method="post", data=selection, roles=MEMBERS, around=slurm),
    "job-tasks": Route(array_of),
    "node": Route(lambda world: {**cluster_of(world), "name": "n0"}),
    "partitions": Route(cluster_of),
    "reservations": Route(cluster_of),
    "qos": Route(booked_of),
    "partition": Route(lambda world: {**cluster_of(world), "name": "train"}),
    "job-cancel": Route(job_of, method="post", roles=ADMINS, around=slurm),
    "job-notify": Route(job_of, method="post", data=lambda world: told, roles=OWNERS),
    "notifications": Route(method="post", data=lambda world: told),
    "notifications-read": Route(method="post"),
    "notifications-bell": Route(),
    "job-output": Route(job_of, roles=ADMINS, around=slurm),
    "job-output-file": Route(job_of, roles=ADMINS, around=slurm),
    "templates": Route(),
    "template-new": Route(method="post", data=lambda world: template_typed(), roles=MEMBERS),
    "template": Route(template_of),
    "template-use": Route(template_of, method="post", roles=MEMBERS),
    "template-edit": Route(template_of, method="post", data=lambda world: template_typed(), roles=ADMINS),
    "template-delete": Route(template_of, method="post", roles=ADMINS),
    "submission": Route(submission_of),
    "submission-again": Route(submission_of, method="post", roles=frozenset({"owner"}), around=slurm),
}
ROWS: dict[str, Callable[[World], models.Model]] = {
    "job": _job,
    "queue": _cluster,
    "submission": _submission,
    "my-jobs": lambda world: Membership.objects.get(user=world.owner, tenant=world.tenant),
    "my-overview": lambda world: Membership.objects.get(user=world.owner, tenant=world.tenant),
    "all-jobs": lambda world: world.tenant,
    "job-tasks": _array,
}
SOCKETS: dict[str, tuple[Callable[[World], str], Callable[[World], AbstractContextManager[None]]]] = {
    "job-tail": (lambda world: f"jobs/{_job(world).pk}/output/", slurm),
}
