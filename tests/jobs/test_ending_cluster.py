"""A cluster that is to be removed: jobs may end, new ones are refused until it is called off."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client

from clusters.models import Cluster
from clusters.services.clusters import terminate_cluster
from clusters.services.orders import cancel_order
from jobs.models import Submission
from jobs.services import actions, submissions
from jobs.services.drafts import Typed
from portal.lib.errors import WrongState
from tenants.models import Role
from tests.builders import actor_for, make_member, make_tenant, sign_in
from tests.clusters.builders import owner_of
from tests.jobs.builders import SCRIPT, make_job, make_slurm_cluster
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db


def test_no_new_jobs_until_it_is_called_off(client: Client, slurm: FakeSlurm) -> None:
    tenant = make_tenant("Aurora Lab")
    member = make_member(tenant, Role.MEMBER)
    cluster = make_slurm_cluster(tenant)
    running = make_job(cluster, member, state="RUNNING")
    owner = actor_for(owner_of(tenant), tenant)

    def submit() -> Submission:
        return submissions.submit_job(
            actor=actor_for(member, tenant),
            cluster=Cluster.objects.get(pk=cluster.pk),
            typed=Typed(script=SCRIPT),
            key=uuid.uuid4(),
        )

    assert submit().state == "accepted"
    order = terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name)
    end = Cluster.objects.get(pk=cluster.pk).terminate_at
    with pytest.raises(WrongState, match=f"to be removed at {end:%Y-%m-%d %H:%M} UTC"):
        submit()
    page = sign_in(client, member).get(f"/t/aurora-lab/clusters/{cluster.pk}/queue/").content.decode()
    assert "Submit job" not in page
    # what runs may end, or be ended
    assert actions.cancel_job(actor=actor_for(member, tenant), job=running).pk == running.pk
    cancel_order(actor=owner, order=order)
    assert submit().state == "accepted"
