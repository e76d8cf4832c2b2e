"""What stands on the pictures of `make shots`: one tenant's life, in every state, made by the builders.

Started as a program in the environment of a small portal; prints the facts for addresses and the sessions.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import tempfile
from pathlib import Path

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from django.apps import apps  # noqa: E402
from django.conf import settings  # noqa: E402
from django.test import Client  # noqa: E402

from clusters.clients.slurmrest.rules import Bounds, Share  # noqa: E402
from clusters.models import (  # noqa: E402
    Allocation,
    Cluster,
    Order,
    Phase,
    Quota,
    Site,
    StepState,
    StepStatus,
    UtilisationSample,
)
from clusters.services import decisions, workloads  # noqa: E402
from jobs.models import Job, Submission  # noqa: E402
from portal.lib import clock  # noqa: E402
from portal.lib.types import JSONDict  # noqa: E402
from tenants.models import ApiToken, Invitation, Membership, Role, Tenant, User  # noqa: E402
from tenants.services import invitations, tokens  # noqa: E402
from tests.builders import actor_for, make_member, make_operator, make_tenant, make_user, sign_in  # noqa: E402
from tests.clusters import builders as clusters  # noqa: E402
from tests.clusters import fakes, kubes, volcanoes  # noqa: E402
from tests.jobs import builders as jobs  # noqa: E402
from tests.jobs.rules import builders as rules  # noqa: E402

STEPS = (
    ("machines", "Machines", StepStatus.READY, 1, "2 machines taken."),
    ("fabric", "Network", StepStatus.READY, 3, "A network of its own."),
    ("slurm", "Slurm", StepStatus.PROGRESSING, 21, "slurmctld answers; 1 of 2 nodes registered."),
    ("identity", "Accounts", StepStatus.STALLED, 90, "The range of user ids at this site is used up."),
    ("smoke", "Test job", StepStatus.WAITING, 0, ""),
)
JOBS: tuple[tuple[str, str, JSONDict], ...] = (
    ("train-7b", "RUNNING", {}),
    ("\u6570\u636e-\u8bad\u7ec3", "PENDING", {"reason": "Resources", "gpus": 8}),
    ("<img src=x onerror=alert(1)>", "COMPLETED", {"exit_status": 0}),
    ('it\'s "v2"', "FAILED", {"exit_status": 1}),
    ("sweep", "OUT_OF_MEMORY", {"exit_status": 137}),
    ("a" * 128, "CANCELLED", {}),
    ("eval", "TIMEOUT", {"exit_status": 0}),
)


def people() -> tuple[Tenant, dict[str, User]]:
    """The tenant; its owner, a researcher, somebody who is not in it yet, and an operator."""
    ada = make_user("Ada Lindqvist", subject="ada", email="ada@example.org")
    rui = make_user("Rui Carvalho", subject="rui", email="rui@example.org")
    tenant = make_tenant("Lab North", owner=ada, slug="lab-north")
    make_tenant("Lab South", owner=ada, slug="lab-south")
    make_member(tenant, Role.MEMBER, user=rui)
    mira = make_user("Mira Novak", subject="mira", email="mira@example.org")
    return tenant, {"ada": ada, "rui": rui, "mira": mira, "otto": make_operator("Otto Brandt")}


def half_built(tenant: Tenant) -> Cluster:
    """A cluster with a step of every status."""
    cluster = clusters.make_cluster(tenant, name="gpu-b", phase=Phase.PROVISIONING)
    now = clock.now()
    for position, (name, component, status, seconds, message) in enumerate(STEPS):
        started = now - dt.timedelta(seconds=100 - position) if seconds else None
        StepState.objects.update_or_create(
            cluster=cluster,
            name=name,
            defaults={
                "position": position,
                "component": component,
                "status": status,
                "reason": "NoFreeUid" if status == StepStatus.STALLED else "",
                "message": message,
                "observed_at": now,
                "since": started,
                "started_at": started,
                "ready_at": started + dt.timedelta(seconds=seconds)
                if started and status == StepStatus.READY
                else None,
            },
        )
    return cluster


def used_for_days(cluster: Cluster) -> None:
    """The cluster has been ready for twelve days, and somebody looked every few minutes."""
    now = clock.now().replace(second=0, microsecond=0)
    began = now - dt.timedelta(days=12)
    Cluster.objects.filter(pk=cluster.pk).update(ready_at=began)
    Allocation.objects.filter(pool__cluster=cluster).update(allocated_at=began)
    UtilisationSample.objects.bulk_create(
        UtilisationSample(
            cluster=cluster,
            at=at,
            nodes=2,
            gpus=8,
            gpus_used=int(4 + 4 * math.sin(number / 40) * math.cos(number / 7)) if number % 97 else 0,
            running=number % 5,
            pending=number % 11,
        )
        for number in range(12 * 24 * 12)
        if not 2000 < number < 2030 and (at := began + dt.timedelta(minutes=5 * number)) <= now
    )


def with_volcano(tenant: Tenant) -> Cluster:
    """A cluster without Slurm whose queues were looked at."""
    cluster = volcanoes.make_volcano_cluster(tenant)
    queues = (
        volcanoes.queue("research", capability={"cpu": "32", "nvidia.com/gpu": 8}, deserved={"cpu": "16"}),
        volcanoes.queue("nights", status={"state": "Closed"}),
    )
    phases = ("Running", "Pending", "Completed", "Failed", "")
    made = (volcanoes.job(f"train-{number}", phase) for number, phase in enumerate(phases))
    with kubes.answering() as kube:
        volcanoes.put(kube, *queues, *made)
        workloads.look(cluster.pk)
    return cluster


def allow(cluster: Cluster, account: str) -> None:
    """QOS and accounts with limits, and a budget of which something was used."""
    budget = Bounds(minutes={"gres/gpu": 60_000}, together={"gres/gpu": 16}, wall_minutes=7 * 1440)
    used = (Share(account="research", used_seconds={"gres/gpu": 38_250 * 60.0}),)
    rules.make_rules(cluster, account, bounds=budget, shares=used)
    Job.objects.filter(cluster=cluster, state__in=("PENDING", "RUNNING")).update(
        qos="normal", account="research"
    )


def furnish() -> JSONDict:
    """Make all of it; the facts for addresses and each person's session."""
    tenant, cast = people()
    ada, rui = cast["ada"], cast["rui"]
    _, token = invitations.invite(actor=actor_for(ada, tenant), email=cast["mira"].email, role=Role.VIEWER)
    tokens.create_token(
        actor=actor_for(ada, tenant),
        name="nightly sweep",
        scopes=["read", "jobs"],
        expires_at=clock.now() + dt.timedelta(days=30),
    )
    clusters.make_site(machines=12)
    Quota.objects.create(tenant=tenant, flavor=clusters.make_flavor(), nodes=12)
    ready = jobs.make_slurm_cluster(tenant, name="gpu-a")
    made = [
        jobs.make_job(ready, ada if number % 2 == 0 else rui, state=state, name=name, **columns)
        for number, (name, state, columns) in enumerate(JOBS)
    ]
    for job in made[:3]:
        jobs.make_notice(job, "started")
    for number, job in enumerate(made[2:5]):
        jobs.make_use(job, cpu_percent=12.0 + 30 * number)
    jobs.keep_books(ready)
    allow(ready, jobs.identity_for(ready, ada).name)
    array = jobs.make_array(ready, ada, number=500)
    large = jobs.make_large_array(ready, ada)
    jobs.fill_nodes(ready)
    jobs.make_view(tenant, ada)
    submission = jobs.make_submission(ready, ada, state="checking")
    used_for_days(ready)
    building = half_built(tenant)
    rejected = clusters.make_order(tenant, name="too-much", nodes=1, by=ada)
    decisions.reject_order(actor=clusters.operator(), order=rejected, note="Please ask for one node first.")
    changing = clusters.make_cluster(tenant, name="gpu-d", nodes=2, phase=Phase.READY)
    clusters.see_nodes(changing)
    shrinking = clusters.resize(changing, by=ada, train=1)
    batch = with_volcano(tenant)
    waiting = clusters.make_order(tenant, Site.objects.get(slug="site-north"), name="gpu-c", nodes=2, by=ada)
    facts = {
        "tenant": tenant.slug,
        "cluster": ready.pk,
        "building": building.pk,
        "volcano": batch.pk,
        "order": waiting.pk,
        "order building": Order.objects.get(cluster=building).pk,
        "order rejected": rejected.pk,
        "order shrinking": shrinking.pk,
        "job": made[0].pk,
        "array": array.pk,
        "array large": large.pk,
        "node": "n0",
        "partition": "train",
        "job failed": made[3].pk,
        "submission": submission.pk,
        "template": jobs.make_template(tenant, ada, name="Fine-tuning").pk,
        "membership": Membership.objects.get(tenant=tenant, user=rui).pk,
        "invitation": Invitation.objects.get(tenant=tenant).pk,
        "token": token,
        "api token": ApiToken.objects.get().pk,
    }
    for model in apps.get_models():
        first = model._default_manager.order_by("pk").first()
        if first is not None:
            facts[f"first {model._meta.app_label}_{model._meta.model_name}"] = first.pk
    sessions = {
        name: sign_in(Client(), user).cookies[settings.SESSION_COOKIE_NAME].value
        for name, user in cast.items()
    }
    return {"facts": {name: str(value) for name, value in facts.items()}, "sessions": sessions}


if __name__ == "__main__":
    assert not Job.objects.exists(), "the scene is made in a database of its own"
    assert not Submission.objects.exists()
    with tempfile.TemporaryDirectory() as outside:
        fakes.install(Path(outside))
        answer = furnish()
    print(json.dumps(answer))
