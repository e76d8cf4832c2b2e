"""Where the output reader's command looks: the job's row decides, the caller never."""

from __future__ import annotations

import os
import uuid

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from jobs.management.commands.read_outputs import find_target
from jobs.output_reader.protocol import Request
from tests.builders import make_member, make_tenant
from tests.cases import case
from tests.jobs.builders import make_job, make_slurm_cluster

pytestmark = pytest.mark.django_db


@case("U21")
def test_path_and_account_come_from_the_row() -> None:
    tenant = make_tenant()
    member = make_member(tenant)
    job = make_job(make_slurm_cluster(tenant), member, stderr_path="/clusters/c-test/home/x/own.err")
    assert job.identity is not None
    output = find_target(Request(job=job.pk, stream="stdout"))
    error = find_target(Request(job=job.pk, stream="stderr"))
    assert output is not None
    assert error is not None
    assert (output.path, error.path) == (job.stdout_path, "/clusters/c-test/home/x/own.err")
    assert (output.account, output.uid, output.gid) == (job.identity.name, job.identity.uid, job.identity.gid)


def test_blank_stderr_stays_blank() -> None:
    tenant = make_tenant()
    job = make_job(make_slurm_cluster(tenant), make_member(tenant))
    target = find_target(Request(job=job.pk, stream="stderr"))
    assert target is not None
    assert target.path == ""


def test_no_account_of_ours_and_no_job_are_nothing() -> None:
    tenant = make_tenant()
    cluster = make_slurm_cluster(tenant)
    assert find_target(Request(job=make_job(cluster, make_member(tenant)).pk, stream="stdout")) is not None
    assert find_target(Request(job=make_job(cluster).pk, stream="stdout")) is None
    assert find_target(Request(job=uuid.uuid4(), stream="stdout")) is None


def test_the_command_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CommandError, match="as root"):
        call_command("read_outputs", "/nonexistent/x.sock")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(CommandError, match="no user nobody-at-all"):
        call_command("read_outputs", "/nonexistent/x.sock", portal_user="nobody-at-all")
