"""Requeue, suspend, top and the queue of a Slinky cluster, as pages and the observer ask for them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from clusters.clients.slurm_console.lines import parse
from clusters.drivers.slurm_probe.site import USER_TOP
from clusters.kube import tenant
from clusters.models import Cluster, IdentityKind, Phase, SlurmIdentity
from clusters.services import consoles, secrets
from jobs import outside
from jobs.models import Job
from jobs.services.acts import ACTS, offers
from jobs.services.doing import Wish, do
from portal.lib.crypto import seal
from portal.lib.errors import OutsideError, WrongState
from tenants.models import AuditEvent, Role
from tests.builders import actor_for, make_member, make_tenant
from tests.cases import case
from tests.clusters.builders import make_cluster
from tests.contract.slurm_console.contract import state, submit
from tests.contract.slurmrest.lab import SlurmLab, until
from tests.jobs.builders import make_job
from tests.kube.pods import SlurmPods

SLINKY = {"slurm": "slinky", "accounting": "slinky"}


def slinky_cluster(kept: bytes = b"", **section: object) -> Cluster:
    """A ready cluster at a site of Slinky's; `kept` is the portal's access to its API server."""
    row = make_cluster(make_tenant(), phase=Phase.READY)
    row.site.drivers = {**row.site.drivers, **SLINKY}
    row.site.settings = {"slinky": {"install": "direct", **section}}
    row.site.save()
    if kept:
        secrets.keep(row, tenant.KEPT_AS, kept, None)
    return row


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kept", "section", "why"),
    [
        (b"access", {}, ""),
        (b"", {}, "The cluster's console is not known yet."),
        (b"access", {"login": {"replicas": 0}}, "This site has no login pods"),
        (b"access", {"login": {"replicas": "many"}}, "This site's settings for Slurm are not usable."),
    ],
)
def test_a_cluster_without_login_pods_has_no_console_and_says_why(
    kept: bytes, section: dict[str, object], why: str
) -> None:
    row = slinky_cluster(kept, **section)
    told = consoles.why_absent(row)
    assert told.startswith(why)
    assert bool(told) == bool(why)
    observer = SlurmIdentity.objects.get(cluster=row, kind=IdentityKind.OBSERVER)
    if why:
        with pytest.raises(WrongState, match=why), outside.console_for(observer):
            pass
    member = make_member(row.tenant, Role.MEMBER)
    actor = actor_for(member, row.tenant)
    found = {one.act.name: one for one in offers(actor, make_job(row, member))}
    assert (found["requeue"].allowed, found["requeue"].why) == (not why, told)


@case("U12")
@pytest.mark.slow
@pytest.mark.xdist_group("pods")
@pytest.mark.django_db
def test_acts_and_the_queue_go_by_the_login_pod(slurm_pods: SlurmPods) -> None:
    lab, node, portal = slurm_pods.lab, slurm_pods.node, slurm_pods.portal
    row = slinky_cluster(tenant.pack(portal.access))
    row.site.settings = {**row.site.settings, USER_TOP: True}
    row.site.save()
    type(row.slurm).objects.filter(cluster=row).update(
        url=lab.url, api_version="v0.0.38", sealed_jwt_key=seal(lab.key)
    )
    member, other = (make_member(row.tenant, role) for role in (Role.MEMBER, Role.ADMIN))
    job = make_job(row, member, **_row(lab, submit(lab)))
    theirs = make_job(row, other, **_row(lab, submit(lab, 1, hold=True)), state="PENDING")
    for person, account in zip((job.identity, theirs.identity), lab.members[:2], strict=True):
        assert person is not None
        person.name, person.uid, person.gid = account.name, account.uid, account.gid
        person.save()
    until(lambda: state(lab, job.slurm_job_id) == "RUNNING", what="it runs")

    begun = len(node.asked)
    done = do(actor=actor_for(member, row.tenant), job=_read(job), wish=Wish(ACTS["requeue"]))
    assert done.job.slurm_job_id == job.slurm_job_id
    number = str(job.slurm_job_id)
    until(lambda: "Restarts=1" in lab.command("scontrol", "show", "job", number), what="it begins again")
    (asked,) = node.asked[begun:]
    assert asked.command[-3:] == ("scontrol", "requeue", number)
    assert f"--reuid={lab.members[0].uid}" in asked.command
    assert AuditEvent.objects.filter(verb="job.requeued").count() == 1
    # Slurm itself says no to a member who would reorder; the page says what Slurm said
    with pytest.raises(WrongState, match="Slurm refused this"):
        do(actor=actor_for(other, row.tenant), job=_read(theirs), wish=Wish(ACTS["top"]))
    # as nobody at all
    with pytest.raises((WrongState, OutsideError)):
        do(actor=actor_for(other, row.tenant), job=_read(job), wish=Wish(ACTS["suspend"]))
    assert state(lab, job.slurm_job_id) != "SUSPENDED"

    assert job.identity is not None
    with outside.console_for(job.identity) as console:
        found = {line.job_id: line for line in map(parse, console.queue())}
    assert {job.slurm_job_id, theirs.slurm_job_id} <= found.keys()
    assert found[theirs.slurm_job_id].reason == "JobHeldUser"


def _row(lab: SlurmLab, number: int) -> dict[str, Any]:
    """What tells a job from another one of that number."""
    seconds = lab.gateway().job(number)[0].submit_time
    assert seconds is not None
    return {"slurm_job_id": number, "submit_time": dt.datetime.fromtimestamp(seconds, tz=dt.UTC)}


def _read(job: Job) -> Job:
    return Job.objects.select_related("cluster__site", "owner", "identity").get(pk=job.pk)
