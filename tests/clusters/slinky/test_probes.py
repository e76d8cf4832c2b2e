"""Identity and smoke without an API server: what is tried, what is remembered, and what is given up."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from clusters.drivers.slinky import shown
from clusters.drivers.slinky.smoke import NO_GPU, SmokeStep
from clusters.drivers.slurm_probe import identity as probe
from clusters.provisioning.steps import PoolSpec, StepContext
from portal.lib.errors import PermanentError, TemporaryError
from tests.cases import case
from tests.contract.driver_contract import drive_away, settle
from tests.contract.kube.driven import one_machine_more, spec_of
from tests.kube.fake_slurm import FakeSlurm


def context() -> StepContext:
    """A cluster of two machines whose secrets are kept."""
    secrets = {"slurm-jwt-key": b"k" * 32}
    return StepContext(
        spec=spec_of(), secrets=secrets, keep=lambda name, value, _: secrets.update({name: value})
    )


def test_a_pool_is_tried_once_and_again_only_for_nodes_that_are_new() -> None:
    slurm, ctx = FakeSlurm(), context()
    step = SmokeStep(slurm)
    assert step.observe(ctx).exists is False
    assert settle(step, ctx).facts == {"jobs": "gpu=1"}
    for spec in (ctx.spec, dataclasses.replace(ctx.spec, pools=(fewer(ctx),))):
        assert settle(step, dataclasses.replace(ctx, spec=spec)).ready
    assert slurm.submits == 1
    more = dataclasses.replace(ctx, spec=one_machine_more(ctx.spec))
    assert step.observe(more).in_sync is False
    assert settle(step, more).facts == {"jobs": "gpu=2"}


def test_a_pool_that_only_empties_is_not_tried() -> None:
    slurm, ctx = FakeSlurm(), context()
    pool = dataclasses.replace(ctx.spec.pools[0], machines=(), leaving=ctx.spec.pools[0].machines)
    gone = dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, pools=(pool,)))
    assert settle(SmokeStep(slurm), gone).ready
    assert (SmokeStep(slurm).describe(gone.spec), slurm.submits) == ((), 0)


def test_a_job_that_waits_is_waited_for() -> None:
    slurm, ctx = FakeSlurm(ends="PENDING"), context()
    step = SmokeStep(slurm)
    step.apply(ctx)
    seen = step.observe(ctx)
    assert (seen.in_sync, seen.ready, seen.reason, seen.waits_for) == (True, False, "SmokeJobWaits", "")
    slurm.jobs[1] = msgspec.structs.replace(slurm.jobs[1], state="COMPLETED")
    assert step.observe(ctx).ready


def test_in_a_pool_that_grows_jobs_of_members_may_come_first() -> None:
    slurm, ctx = FakeSlurm(), context()
    step = SmokeStep(slurm)
    settle(step, ctx)
    slurm.ends = "PENDING"
    more = dataclasses.replace(ctx, spec=one_machine_more(ctx.spec))
    step.apply(more)
    assert step.observe(more).waits_for == "jobs ahead in the queue"


@pytest.mark.parametrize(
    ("status", "words"), [(NO_GPU, "was given no GPU"), (NO_GPU + 1, "saw no GPU"), (1, "ended FAILED")]
)
def test_a_third_failure_is_for_a_person_who_may_try_again(status: int, words: str) -> None:
    slurm, ctx = FakeSlurm(ends="FAILED", status=status), context()
    step = SmokeStep(slurm)
    for _ in range(3):
        step.apply(ctx)
        assert words in step.observe(ctx).message
    with pytest.raises(PermanentError) as stalled:
        step.apply(ctx)
    assert (stalled.value.reason, slurm.submits) == ("SmokeJobFailed", 3)
    assert stalled.value.hint
    slurm.ends = "COMPLETED"
    assert settle(step, ctx).ready


@case("U10")
def test_a_submit_whose_answer_was_lost_is_found_by_its_mark() -> None:
    slurm, ctx = FakeSlurm(lost=1), context()
    step = SmokeStep(slurm)
    with pytest.raises(TemporaryError):
        step.apply(ctx)
    assert settle(step, ctx).ready
    assert (slurm.submits, len(slurm.jobs)) == (1, 1)


def test_removal_forgets_what_was_shown() -> None:
    slurm, ctx = FakeSlurm(), context()
    step = SmokeStep(slurm)
    settle(step, ctx)
    drive_away(step, ctx)
    step.remove(ctx)
    assert settle(step, ctx).ready
    assert slurm.submits == 2


def test_a_proof_is_worth_nothing_after_another_key_or_uid() -> None:
    ctx = context()
    account = ctx.spec.accounts[0]
    first = shown.of_account(ctx, account)
    assert first == shown.of_account(ctx, account)
    assert first != shown.of_account(ctx, dataclasses.replace(account, uid=1))
    ctx.secrets["slurm-jwt-key"] = b"l" * 32  # type: ignore[index]  # a dict
    assert first != shown.of_account(ctx, account)


def test_a_record_names_accounts_and_jobs_and_no_secret() -> None:
    slurm, ctx = FakeSlurm(), context()
    settle(SmokeStep(slurm), ctx)
    assert ctx.secrets["slurm-jwt-key"] not in ctx.secrets[shown.SMOKE]
    assert probe.NAME.encode() not in ctx.secrets[shown.SMOKE]


def fewer(ctx: StepContext) -> PoolSpec:
    """The pool with one node less."""
    pool = ctx.spec.pools[0]
    return dataclasses.replace(pool, machines=pool.machines[:1])
