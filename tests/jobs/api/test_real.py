"""A job by API on a real Slurm: submitted once though asked twice at the same moment, followed, cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from jobs.models import Job
from tests.api.calls import make_token, send
from tests.cases import case
from tests.jobs.real import RealCluster, real_cluster

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def slurm() -> Iterator[RealCluster]:
    with real_cluster() as cluster:
        yield cluster


@case("U10")
def test_a_job_is_submitted_followed_and_cancelled_by_api(slurm: RealCluster) -> None:
    tenant = slurm.cluster.tenant
    token = make_token(slurm.member, tenant, ["jobs"])
    here = f"/api/v1/t/{tenant.slug}/"
    slurm.look()

    def submit(script: str, key: str) -> Any:
        body = {"script": f"#!/bin/bash\n{script}\n", "name": key, "gpus": "1"}
        answer = send(token, "post", f"{here}clusters/{slurm.cluster.pk}/jobs/", body, key=key)
        assert answer.status_code in {201, 202}, answer.content  # 202: the other one is sending it
        return answer.json()

    short = submit("exit 3", "short")["job"]
    made: list[str] = []

    def press() -> None:
        try:
            made.append(submit("sleep 300", "long")["id"])
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(made) == 2
    assert len(set(made)) == 1
    slurm.wait_for(Job.objects.get(pk=short["id"]), "FAILED")
    found = send(token, "get", f"{here}jobs/{short['id']}/").json()
    assert (found["state"], found["exit_status"], found["gpus"]) == ("FAILED", 3, 1)
    long = slurm.wait_for(Job.objects.get(name="long"), "RUNNING")
    assert send(token, "get", f"{here}submissions/{made[0]}/").json()["job"]["id"] == str(long.pk)
    assert send(token, "post", f"{here}jobs/{long.pk}/cancel/").status_code == 200
    slurm.wait_for(long, "CANCELLED")
    assert Job.objects.count() == 2
