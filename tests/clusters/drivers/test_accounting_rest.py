"""A real slurmdbd, asked and changed through a real slurmrestd."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator

import pytest

from clusters.clients.slurmrest import errors, tokens
from clusters.clients.slurmrest.accounting import RestAccounting
from clusters.clients.slurmrest.past import AssociationLimits, PastJob
from clusters.drivers.local import accounting_books, accounting_store
from clusters.provisioning.steps import AccountSpec, Step, StepContext
from portal.lib.errors import OutsideError, TemporaryError
from tests.cases import case
from tests.clusters.drivers.book_subjects import CONCERNS, AccountsSubject, books_of
from tests.clusters.drivers.lab import Lab, open_lab, until
from tests.contract.driver_contract import settle

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """One store and one cluster for all tests here."""
    opened = open_lab(concerns=CONCERNS)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def booked(lab: Lab) -> StepContext:
    """A cluster with accounting, and one member."""
    return lab.bring_up(lab.cluster())


def rest(ctx: StepContext, kind: str) -> RestAccounting:
    """The books as one of the cluster's accounts sees them."""
    name = next(account.name for account in ctx.spec.accounts if account.kind == kind)
    key = ctx.secrets["slurm-jwt-key"]
    facts = ctx.facts["slurm"]
    return RestAccounting(facts["url"], facts["api_version"], name, lambda: tokens.mint(name, key))


@case("U15")
def test_the_books_are_read_through_slurmrestd(lab: Lab, booked: StepContext) -> None:
    settle(lab.site["accounts"], booked)
    books = rest(booked, "observer")
    earlier = {job.job_id for job in books.jobs(int(time.time()) - 600, int(time.time()) + 60)}
    lab.run(booked, "for i in $(seq 40000); do :; done")
    now = int(time.time())
    seen: list[PastJob] = []

    def found() -> bool:
        told = [job for job in books.jobs(now - 600, now + 60) if job.job_id not in earlier]
        # what it used comes with its steps, which may be written after it
        ended = [job for job in told if job.state == "COMPLETED" and job.partition and job.steps]
        seen[:] = [job for job in ended if job.name == "allocation"]
        return bool(seen)

    until(found, what="the job and its use are told of")
    (last,) = seen
    assert (last.user, last.cpus, last.node_count) == (booked.spec.accounts[-1].name, 1, 1)
    assert last.memory_mib == 2000
    assert last.exit_code is None  # v0.0.38 does not tell it right
    assert last.use.cpu_seconds is not None
    assert [job.job_id for job in books.job(last.job_id)] == [last.job_id]
    assert books.job(999_999) == ()
    assert books.jobs(1_000_000, 1_000_100) == ()
    users = {user.name: user.is_administrator for user in books.users()}
    assert {account.name for account in booked.spec.accounts} <= users.keys()
    assert [qos.name for qos in books.qos()] == ["normal"]


def test_limits_are_set_and_lifted_by_the_administrator_alone(lab: Lab, booked: StepContext) -> None:
    settle(lab.site["accounts"], booked)
    member, name = booked.spec.accounts[-1].name, booked.spec.name
    wanted = AssociationLimits(
        account="team-a", cluster=name, user=member, running_jobs=3, submitted_jobs=9, gpus=2, wall_minutes=90
    )
    admin = rest(booked, "administrator")

    def limits() -> AssociationLimits:
        return next(
            one.limits
            for one in admin.associations()
            if (one.limits.account, one.limits.user) == ("team-a", member)
        )

    before = limits()
    with contextlib.suppress(errors.NotPermitted):  # 22.05 says nothing
        rest(booked, "member").set_limits(wanted)
    assert limits() == before != wanted
    admin.set_limits(wanted)
    assert limits() == wanted
    told = lab.slurm(
        booked,
        "sacctmgr",
        "-nP",
        "show",
        "assoc",
        f"user={member}",
        "format=maxjobs,maxsubmit,grptres,maxwall",
    )
    assert told.strip() == "3|9|gres/gpu=2|01:30:00"
    admin.set_limits(AssociationLimits(account="team-a", cluster=name, user=member))
    assert limits() == AssociationLimits(account="team-a", cluster=name, user=member)


def test_a_user_is_added_to_an_account_and_removed(lab: Lab, booked: StepContext) -> None:
    settle(lab.site["accounts"], booked)
    member, admin = booked.spec.accounts[-1].name, rest(booked, "administrator")
    AccountsSubject(lab, booked).sacctmgr("add", "account", "vision", f"Cluster={booked.spec.name}")
    where = {"account": "vision", "cluster": booked.spec.name}
    for _ in range(2):
        admin.add_user(member, **where)
    assert ("vision", member) in {(one.limits.account, one.limits.user) for one in admin.associations()}
    for _ in range(2):
        admin.remove_user(member, **where)
    assert ("vision", member) not in {(one.limits.account, one.limits.user) for one in admin.associations()}


def test_slurm_holds_to_limits_once_it_is_asked_to(lab: Lab, booked: StepContext) -> None:
    last = booked.spec.accounts[-1]
    more = AccountSpec(f"{last.name}l", last.uid + 1, last.gid, "member", active=True)
    accounts = (*booked.spec.accounts, more)
    strict = dataclasses.replace(booked.spec, accounts=accounts, enforces_limits=True)
    ctx = dataclasses.replace(booked, spec=strict)
    assert lab.site["slurm"].observe(ctx).reason == "ConfigurationChanged"
    settle(lab.site["slurm"], ctx)
    # a member who comes now is shown to work when Slurm knows the user, and Slurm when the account is there
    names = ("identity", "accounts")
    until(lambda: all([_passes(lab.site[name], ctx) for name in names]), what="the new member works")  # noqa: C419 -- each has its turn
    limits = AssociationLimits(account="team-a", cluster=ctx.spec.name, user=more.name, running_jobs=1)
    rest(ctx, "administrator").set_limits(limits)
    gateway = lab.gateway(ctx, more.name)
    first, second = (lab.submit(ctx, "sleep 60", account=more.name) for _ in range(2))
    until(lambda: gateway.job(first)[0].state == "RUNNING", what="the first runs")
    until(lambda: gateway.job(second)[0].reason == "AssocMaxJobsLimit", what="the second waits for its turn")
    gateway.cancel(str(second))
    gateway.cancel(str(first))


def _passes(step: Step, ctx: StepContext) -> bool:
    """One pass of the engine over a step; whether it is ready."""
    seen = step.observe(ctx)
    if not (seen.exists and seen.in_sync):
        with contextlib.suppress(TemporaryError):
            step.apply(ctx)
    return step.observe(ctx).ready


@case("U15")
def test_without_slurmdbd_nothing_says_that_there_is_nothing(lab: Lab, booked: StepContext) -> None:
    accounting_store.end(accounting_books.running(books_of(lab, booked)))
    books, now = rest(booked, "observer"), int(time.time())
    for ask in (lambda: books.jobs(now - 60, now), books.users, books.associations):
        with pytest.raises(OutsideError) as away:
            ask()
        assert isinstance(away.value, errors.NotReachable), away.value
    settle(lab.site["accounting"], booked)
    until(lambda: _answers(books), what="slurmrestd reaches slurmdbd again")


def _answers(books: RestAccounting) -> bool:
    try:
        return bool(books.users())
    except OutsideError:
        return False
