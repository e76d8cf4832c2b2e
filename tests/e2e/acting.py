"""Acts in a running portal's database through the services, so that a test need not click what others prove.

Started by `Hands` with the web process's own environment: one JSON request a line in, one answer a line out.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from dataclasses import replace  # noqa: E402

from django.conf import settings  # noqa: E402
from django.db import DatabaseError, close_old_connections  # noqa: E402
from django.test import Client  # noqa: E402

from clusters.models import Cluster, Offering, Order, Phase  # noqa: E402
from clusters.services import clusters, decisions, orders  # noqa: E402
from clusters.services.order_checks import OrderRequest, PoolRequest  # noqa: E402
from jobs.models import Job  # noqa: E402
from jobs.services import actions, submissions  # noqa: E402
from jobs.services.drafts import Typed  # noqa: E402
from portal.lib.errors import FreeholdError  # noqa: E402
from portal.lib.types import JSONDict  # noqa: E402
from tenants.actor import Actor  # noqa: E402
from tenants.models import OidcIdentity, Tenant  # noqa: E402
from tests.builders import actor_for, make_tenant, make_user, sign_in  # noqa: E402


def person(subject: str) -> OidcIdentity:
    """The person of that subject at the portal's provider, made at the first use."""
    issuer = settings.OIDC["issuer"]
    found = OidcIdentity.objects.filter(issuer=issuer, subject=subject).first()
    if found is None:
        make_user(subject.capitalize(), issuer=issuer, subject=subject)
        found = OidcIdentity.objects.get(issuer=issuer, subject=subject)
    return found


def found(subject: str, slug: str) -> JSONDict:
    """A tenant that this person owns."""
    tenant = make_tenant(slug.capitalize(), owner=person(subject).user, slug=slug)
    return {"tenant": str(tenant.pk)}


def cookie(subject: str) -> JSONDict:
    """The session cookie of this person, as if signed in."""
    return {"sessionid": sign_in(Client(), person(subject).user).cookies["sessionid"].value}


def order(subject: str, slug: str, name: str, nodes: int = 2) -> JSONDict:
    """Submit an order of one pool of the first offering with GPUs."""
    actor = actor_for(person(subject).user, Tenant.objects.get(slug=slug))
    offering = (
        Offering.objects.select_related("site", "flavor")
        .filter(active=True, flavor__gpu_count__gt=0)
        .order_by("price_per_hour")[0]
    )
    request = OrderRequest(site=offering.site, name=name, pools=(PoolRequest("train", offering, nodes),))
    made = orders.submit_order(actor=actor, key=uuid.uuid4(), request=request)
    return {"order": str(made.pk)}


def approve(subject: str, order: str) -> JSONDict:
    """Approve the order as that operator; the plan must be there."""
    row = Order.objects.get(pk=order)
    actor = replace(actor_for(person(subject).user), via="admin")
    done = decisions.approve_order(actor=actor, order=row, plan_hash=row.plan_hash, note="Fine.")
    return {"cluster": str(done.cluster_id)}


def terminate(subject: str, cluster: str) -> JSONDict:
    """Remove the cluster, at once."""
    row = Cluster.objects.select_related("tenant").get(pk=cluster)
    actor: Actor = actor_for(person(subject).user, row.tenant)
    clusters.terminate_cluster(actor=actor, cluster=row, typed_name=row.name, at_once=True)
    return {}


def clear() -> JSONDict:
    """Remove every cluster that is left, each as an owner of its tenant; how many are not gone yet."""
    left = Cluster.objects.exclude(phase=Phase.DELETED).select_related("tenant")
    for row in left.filter(wanted=True):
        owner = row.tenant.memberships.filter(role="owner", ended_at=None).select_related("user")[0].user
        actor = actor_for(owner, row.tenant)
        clusters.terminate_cluster(actor=actor, cluster=row, typed_name=row.name, at_once=True)
    return {"left": left.count()}


def job(subject: str, cluster: str, script: str, fields: dict[str, str]) -> JSONDict:
    """Submit a job as that person; blank fields are left out."""
    row = Cluster.objects.select_related("tenant", "site").get(pk=cluster)
    actor = actor_for(person(subject).user, row.tenant)
    typed = Typed(fields=fields, script=script)
    sent = submissions.submit_job(actor=actor, cluster=row, typed=typed, key=uuid.uuid4())
    return {"job": str(sent.job_id), "slurm_id": sent.slurm_job_id}


def cancel(subject: str, job: str) -> JSONDict:
    """Cancel a job as that person."""
    row = Job.objects.select_related("cluster", "tenant", "identity", "owner").get(pk=job)
    actions.cancel_job(actor=actor_for(person(subject).user, row.tenant), job=row)
    return {}


def job_state(job: str) -> JSONDict:
    """What the portal knows of a job."""
    return {"state": Job.objects.get(pk=job).state}


def state(cluster: str) -> JSONDict:
    """Phase and steps of a cluster."""
    row = Cluster.objects.get(pk=cluster)
    steps = {step.name: step.status for step in row.steps.order_by("position")}
    return {"phase": row.phase, "name": row.external_name, "reason": row.reason, "steps": steps}


def planned(order: str) -> JSONDict:
    """Whether the order has its plan."""
    return {"hash": Order.objects.get(pk=order).plan_hash}


ACTS: dict[str, Callable[..., JSONDict]] = {
    act.__name__: act
    for act in (clear, found, cookie, order, approve, terminate, job, cancel, job_state, state, planned)
}


def main() -> None:
    """Until the other end closes."""
    for line in sys.stdin:
        request = json.loads(line)
        close_old_connections()
        try:
            answer = ACTS[request.pop("do")](**request)
        except FreeholdError as error:
            answer = {"error": error.message}
        except DatabaseError as error:  # PostgreSQL is being killed
            answer = {"error": str(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
