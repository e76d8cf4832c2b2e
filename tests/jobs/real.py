"""Real Slurm clusters as the portal's own rows, for slow tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from clusters.models import Cluster, IdentityKind, StepState, StepStatus
from clusters.provisioning.steps import StepContext
from jobs.models import Job
from jobs.observer.look import Memory, look
from portal.lib import crypto
from tenants.actor import Actor
from tenants.models import Role, User
from tests.builders import actor_for, make_member, make_tenant
from tests.clusters.builders import make_cluster
from tests.clusters.drivers.lab import Lab, open_lab
from tests.jobs.builders import know_accounts

T = TypeVar("T")


@dataclass
class RealCluster:
    """One real Slurm cluster with one member."""

    cluster: Cluster
    member: User
    memory: Memory
    lab: Lab
    context: StepContext

    @property
    def actor(self) -> Actor:
        """The member inside the tenant."""
        return actor_for(self.member, self.cluster.tenant)

    def look(self) -> str:
        """What the observer does when it is due; returns the source."""
        endpoints = type(self.cluster.slurm).objects.select_related("cluster__site")
        return look(endpoints.get(cluster=self.cluster), self.memory).source

    def slurm(self, *command: str) -> str:
        """One of Slurm's commands as root, behind the portal's back."""
        return self.lab.slurm(self.context, *command)

    def look_until(self, found: Callable[[], T | None], *, seconds: float = 120) -> T:
        """Look again and again until there is what is waited for."""
        end = time.monotonic() + seconds
        while True:
            self.look()
            if result := found():
                return result
            rows = list(Job.objects.values_list("slurm_job_id", "name", "state", "reason"))
            assert time.monotonic() < end, f"not seen in {seconds} s; the rows are {rows}"
            time.sleep(0.1)

    def wait_for(self, job: Job, state: str, *, seconds: float = 120) -> Job:
        """Look until the job's row is in this state."""
        return self.look_until(lambda: Job.objects.filter(pk=job.pk, state=state).first(), seconds=seconds)


@contextmanager
def real_cluster() -> Iterator[RealCluster]:
    """Daemons up to the identity step, and rows that point at them."""
    lab = open_lab()
    try:
        context = lab.prepare(lab.cluster(members=1), until="smoke")
        tenant = make_tenant("Aurora Lab")
        member = make_member(tenant, Role.MEMBER)
        cluster = make_cluster(tenant)
        accounts = {str(account.kind): account for account in context.spec.accounts}
        cluster.identities.exclude(kind=IdentityKind.OBSERVER).exclude(membership__user=member).delete()
        for identity in cluster.identities.all():
            account = accounts[identity.kind]
            identity.name, identity.uid, identity.gid = account.name, account.uid, account.gid
            identity.save()
        slurm = context.facts["slurm"]
        cluster.slurm.url, cluster.slurm.api_version = slurm["url"], slurm["api_version"]
        cluster.slurm.sealed_jwt_key = crypto.seal(context.secrets["slurm-jwt-key"])
        cluster.slurm.save()
        cluster.phase, cluster.ready_at = "ready", cluster.created_at
        cluster.save(update_fields=["phase", "ready_at"])
        know_accounts(cluster, homes=context.facts["identity"]["homes"])
        StepState.objects.create(
            cluster=cluster, name="slurm", position=3, status=StepStatus.READY, facts=dict(slurm)
        )
        cluster.site.drivers = {**cluster.site.drivers, "slurm": "local"}  # it has a console
        cluster.site.save(update_fields=["drivers"])
        yield RealCluster(cluster, member, Memory(), lab, context)
    finally:
        lab.close()
