"""From an order to figures: the engine, a real Slurm with its slurmdbd, the history, and what is kept."""

from __future__ import annotations

import time

import pytest

from clusters.clients.slurmrest.models import SubmitRequest
from clusters.drivers.local import accounting_export, accounting_store
from clusters.drivers.slurm_probe import gateways
from clusters.models import Cluster, IdentityKind, Phase, Site, SlurmIdentity
from clusters.services.clusters import terminate_cluster
from jobs.history import reading
from jobs.history.models import HistoryCursor, JobUse
from jobs.models import Job
from portal.lib import clock
from portal.lib.crypto import unseal
from tenants.models import Role, User
from tests.api.calls import make_token, send
from tests.builders import actor_for, make_member, make_tenant
from tests.cases import case
from tests.clusters.builders import approved_order, make_flavor, make_site, owner_of
from tests.clusters.drivers.lab import Lab
from tests.clusters.test_real_build import lab, reconcile_until  # noqa: F401  # a fixture

SCRIPT = """#!/bin/bash
srun --ntasks=1 true
srun --ntasks=1 sh -c "exit 5"
while [ $SECONDS -lt 3 ]; do :; done
exit 3
"""
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def with_accounting(site: Site) -> Site:
    """The same site, which keeps books."""
    site.drivers = {**site.drivers, "accounting": "local"}
    site.save(update_fields=["drivers"])
    return site


def is_settled(row: Cluster) -> bool:
    return row.phase == Phase.READY and not row.steps.exclude(status="ready").exists()


def keeps_books(row: Cluster) -> bool:
    return is_settled(row) and row.steps.filter(name__in=["accounting", "accounts"]).count() == 2


def read_until_known(cluster: Cluster, number: int, *, seconds: float = 120) -> Job:
    """Let the worker read whenever it may, until the job is told of."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        HistoryCursor.objects.update(next_at=clock.now())
        reading.due(clock.now())
        reading.read(cluster.pk)
        if found := Job.objects.filter(slurm_job_id=number).exclude(account="").first():
            return found
        time.sleep(0.3)
    raise AssertionError(f"not told of in {seconds} s: {list(HistoryCursor.objects.values())}")


def steps_told(user: User, job: Job) -> dict[str, tuple[str, int | None]]:
    """State and exit status of each of Slurm's steps, as programs are told."""
    token = make_token(user, job.cluster.tenant)
    told = send(token, "get", f"/api/v1/t/{job.cluster.tenant.slug}/jobs/{job.pk}/").json()["steps"]
    return {step["step"]: (step["state"], step["exit_status"]) for step in told}


@case("U15")
def test_what_a_job_took_is_known_after_it_ended(lab: Lab) -> None:  # noqa: F811
    tenant = make_tenant()
    make_member(tenant, Role.MEMBER)
    flavor = make_flavor("a100-2", gpus=2, cpus=4, memory_mib=8000)
    site = make_site(machines=2, flavor=flavor, driver="local")
    cluster = approved_order(tenant, site, nodes=2).cluster
    assert cluster is not None
    reconcile_until(cluster, is_settled)
    with_accounting(site)  # of a later release: the cluster gets its books without another order
    reconcile_until(cluster, keeps_books)
    cluster = Cluster.objects.select_related("slurm").get(pk=cluster.pk)
    key = unseal(bytes(cluster.slurm.sealed_jwt_key))
    member = SlurmIdentity.objects.select_related("membership__user").get(
        cluster=cluster, membership__role=Role.MEMBER
    )
    assert member.membership is not None
    facts = {"url": cluster.slurm.url, "api_version": cluster.slurm.api_version}
    gateway = gateways.of(facts, member.name, key)
    home = lab.settings.clusters / cluster.external_name / "home" / member.name
    request = SubmitRequest(
        script=SCRIPT, environment={"PATH": "/bin"}, working_directory=str(home), name="burn"
    )
    number = gateway.submit(request).job_id
    job = read_until_known(cluster, number)
    assert (job.state, job.account, job.owner, job.exit_status) == (
        "FAILED",
        tenant.slug,
        member.membership.user,
        None,
    )
    assert steps_told(member.membership.user, job) == {
        "batch": ("FAILED", None),  # v0.0.38 tells a wrong exit code, so none is told
        "0": ("COMPLETED", 0),
        "1": ("FAILED", None),
    }
    use = JobUse.objects.get(job=job)
    assert use.cpu_seconds is not None
    assert use.cpu_percent is not None
    assert 0 < use.cpu_percent <= 100
    assert SlurmIdentity.objects.filter(
        cluster=cluster, kind=IdentityKind.ADMINISTRATOR, active=True
    ).exists()
    owner = actor_for(owner_of(tenant), tenant)
    terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
    reconcile_until(cluster, lambda row: row.phase == Phase.DELETED)
    store = accounting_store.of(lab.settings.data, "slurm")
    assert (accounting_export.folder(store) / f"{cluster.external_name}.tsv.gz").exists()
    assert JobUse.objects.filter(job=job).exists()  # what the portal knows stays
