"""A real Slurm with a queue of any length, as the portal's own rows: a member's jobs and others'."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection

from clusters.clients.slurmrest.models import SubmitRequest
from clusters.models import Cluster, IdentityKind, StepState, StepStatus
from jobs.models import Job
from jobs.observer.loop import Observer
from jobs.observer.pace import note_watched, note_watched_job
from portal.lib import crypto
from portal.lib.errors import OutsideError
from tenants.models import Role, User
from tests.builders import make_member, make_tenant
from tests.clusters.builders import make_cluster
from tests.contract.slurmrest.lab import SlurmLab, slurm_lab, until
from tests.jobs.builders import know_accounts

CONNECTIONS = 8
SCRIPT = "#!/bin/bash\nsleep 600\n"
MORE = "MaxJobCount=200000\nMinJobAge=300\n"


@dataclass
class LongQueue:
    """The cluster's rows and daemons. Accounts: the observer, the member, and one that nobody has."""

    lab: SlurmLab
    cluster: Cluster
    member: User

    def submit(self, account: int = 1, *, held: bool = False, name: str = "job") -> int:
        """A job of the member, or of another account; not through the portal."""
        request = SubmitRequest(
            script=SCRIPT,
            environment={"PATH": "/usr/bin:/bin"},
            working_directory=str(self.lab.home(account)),
            name=name,
            hold=held,
        )
        return self.lab.gateway(account, timeout=60).submit(request).job_id

    def fill(self, count: int) -> int:
        """So many separate jobs that wait, or nearly; returns how many there are of them all in all."""
        numbers = itertools.count()

        def work() -> None:
            while (number := next(numbers)) < count:
                with contextlib.suppress(OutsideError):  # a busy machine loses a few
                    self.submit(2, held=True, name=f"held {number}")

        threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        user = self.lab.members[2].name
        return len(self.lab.command("squeue", "--noheader", "--format=%i", f"--user={user}").split())

    def watch(self, slurm_job_id: int) -> None:
        """As if somebody had the page of this job open."""
        note_watched([self.cluster.pk])
        note_watched_job(self.cluster.pk, slurm_job_id)

    def state(self, slurm_job_id: int) -> str | None:
        """What the portal shows."""
        rows = Job.objects.filter(cluster=self.cluster, slurm_job_id=slurm_job_id)
        return rows.values_list("state", flat=True).first()

    @contextmanager
    def observed(self) -> Iterator[Observer]:
        """An observer runs for the duration of the block."""
        observer, stop = Observer(threads=2), threading.Event()

        def run() -> None:
            try:
                observer.run(stop)
            finally:
                connection.close()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield observer
        finally:
            stop.set()
            thread.join(90)


@contextmanager
def long_queue(*, release: str = "bookworm", console: bool = True) -> Iterator[LongQueue]:
    """Daemons of a release, and rows that point at them."""
    with slurm_lab(members=3, more=MORE, release=release) as lab:
        tenant = make_tenant("Long Queue Lab")
        member = make_member(tenant, Role.MEMBER)
        cluster = make_cluster(tenant)
        point_at(lab, cluster, member)
        if console:
            cluster.site.drivers = {**cluster.site.drivers, "slurm": "local"}
            cluster.site.save(update_fields=["drivers"])
        yield LongQueue(lab, cluster, member)


def point_at(lab: SlurmLab, cluster: Cluster, member: User) -> None:
    """Have the rows say that the cluster is this lab, whose first two accounts are observer and member."""
    cluster.identities.exclude(kind=IdentityKind.OBSERVER).exclude(membership__user=member).delete()
    for identity in cluster.identities.all():
        account = lab.members[0 if identity.kind == IdentityKind.OBSERVER else 1]
        identity.name, identity.uid, identity.gid = account.name, account.uid, account.gid
        identity.save()
    cluster.slurm.url, cluster.slurm.api_version = lab.url, lab.versions[0]
    cluster.slurm.sealed_jwt_key = crypto.seal(lab.key)
    cluster.slurm.save()
    cluster.phase, cluster.ready_at = "ready", cluster.created_at
    cluster.save(update_fields=["phase", "ready_at"])
    know_accounts(cluster, homes=str(lab.root / "home"))
    facts = {"controller": f"127.0.0.1:{lab.port + 1}", "cluster_name": lab.name}
    StepState.objects.create(cluster=cluster, name="slurm", position=3, status=StepStatus.READY, facts=facts)


__all__ = ["LongQueue", "long_queue", "point_at", "until"]
