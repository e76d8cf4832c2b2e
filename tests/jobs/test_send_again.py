"""A submit that got no answer and proved to be absent can be sent again, by who sent it."""

from __future__ import annotations

import pytest
from django.test import Client

from clusters.models import Cluster
from jobs.models import Submission
from jobs.services import submissions
from portal.lib.errors import NotAllowed
from tenants.models import Role, Tenant, User
from tests.builders import actor_for, make_member, sign_in
from tests.jobs.builders import HOMES, SCRIPT, make_submission
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db


def test_sending_again_is_possible_only_after_a_proved_absence(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    submission = make_submission(cluster, alice, gpus="2")
    sign_in(client, alice)
    again = f"/t/aurora-lab/submissions/{submission.pk}/again/"
    assert client.post(again).status_code == 409
    Submission.objects.update(state="absent")
    response = client.post(again)
    submission.refresh_from_db()
    assert (submission.state, response.status_code) == ("accepted", 302)
    assert client.post(again).status_code == 409
    (request,) = slurm.submitted
    assert request.script == SCRIPT
    assert request.gpus is not None
    assert (request.gpus.count, request.environment["HOME"]) == (2, f"{HOMES}/{slurm.account}")
    assert request.comment == f"[fh:{submission.mark}]"


def test_only_the_submitter_sends_again(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    submission = make_submission(cluster, alice, state="absent")
    with pytest.raises(NotAllowed):
        submissions.send_again(
            actor=actor_for(make_member(tenant, Role.ADMIN), tenant), submission=submission
        )
    submissions.send_again(actor=actor_for(alice, tenant), submission=submission)
    assert len(slurm.submitted) == 1
