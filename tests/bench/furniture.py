"""Two tenants' clusters in the database: one of 10 jobs, one of 1,000."""

from __future__ import annotations

from dataclasses import dataclass

from django.test import Client

from tests.builders import make_tenant, make_user, sign_in
from tests.clusters.builders import make_site
from tests.jobs.builders import make_job, make_slurm_cluster

SIZES = (10, 1000)
STATES = ("RUNNING", "PENDING", "PENDING", "PENDING")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the measurements need to know; ids are text, as in addresses."""

    tenants: dict[int, str]  # number of jobs to slug
    clusters: dict[int, str]
    jobs: dict[int, str]  # one running job of each
    cookie: str


def furnish() -> Facts:
    """Fill the database."""
    owner = make_user("Ada")
    make_site(machines=4)
    tenants, clusters, jobs = {}, {}, {}
    for size in SIZES:
        tenant = make_tenant(f"Lab of {size}", owner=owner)
        cluster = make_slurm_cluster(tenant, name=f"gpu-{size}")
        made = [
            make_job(cluster, owner, state=STATES[number % 4], name=f"train-{number}")
            for number in range(size)
        ]
        tenants[size], clusters[size], jobs[size] = tenant.slug, str(cluster.pk), str(made[0].pk)
    client = sign_in(Client(), owner)
    return Facts(tenants, clusters, jobs, client.cookies["sessionid"].value)
