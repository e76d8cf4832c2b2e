"""Many submits on few connections, before real slurmrestds of three releases."""

from __future__ import annotations

import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import SubmitRequest, SubmitResult
from tests.cases import case
from tests.contract.slurmrest.lab import SlurmLab

pytestmark = pytest.mark.slow


def job(lab: SlurmLab, **facts: str | bool) -> SubmitRequest:
    """One that runs nothing for long, in the member's home."""
    return SubmitRequest(
        script="#!/bin/sh\ntrue\n",
        environment={"PATH": "/usr/bin:/bin"},
        working_directory=str(lab.home()),
        **facts,  # type: ignore[arg-type]
    )


@case("U10")
def test_submits_on_kept_connections_lose_no_answer_and_a_refusal_ends_none(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    known: list[int] = []
    for number in range(24):
        if number % 8 == 4:  # slurmrestd hangs up after an error, and the next submit must not meet that
            with pytest.raises(errors.SlurmRefused):
                gateway.submit(job(alpha, partition="nowhere"))
        known.append(gateway.submit(job(alpha, name="kept", hold=True)).job_id)
    assert len(set(known)) == 24
    for job_id in known:
        gateway.cancel(str(job_id))


@case("U10")
def test_of_several_on_a_few_connections_each_has_its_number_or_its_refusal(alpha: SlurmLab) -> None:
    gateway = alpha.gateway()
    several = [
        job(alpha, name=f"each {number}", hold=True, partition="nowhere" if number % 8 == 4 else "debug")
        for number in range(32)
    ]
    answers = dict(gateway.submit_each(several, at_once=4))
    refused = {place for place, answer in answers.items() if isinstance(answer, errors.SlurmRefused)}
    assert refused == {4, 12, 20, 28}
    for place, answer in answers.items():
        if isinstance(answer, SubmitResult):
            assert gateway.job(answer.job_id)[0].name == f"each {place}"
            gateway.cancel(str(answer.job_id))
    assert len(answers) == 32
