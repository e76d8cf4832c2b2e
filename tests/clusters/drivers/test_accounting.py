"""Accounting on this machine: a real MariaDB for all, and for each cluster a real slurmdbd with its users."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from clusters.clients.slurm_console.console import Unreadable
from clusters.clients.slurm_console.local import Controller, LocalConsole
from clusters.clients.slurmrest import errors, tokens
from clusters.drivers.local import (
    accounting_books,
    accounting_export,
    accounting_store,
    daemons,
    files,
    slurmconf,
    teardown,
)
from clusters.drivers.local.daemons import PATH
from clusters.provisioning.steps import StepContext
from portal.lib import processes
from portal.lib.errors import PermanentError, TemporaryError
from tests.cases import case
from tests.clusters.drivers.book_subjects import CONCERNS, AccountingSubject, AccountsSubject, books_of, later
from tests.clusters.drivers.lab import Lab, open_lab, until
from tests.contract.driver_contract import DriverContract, Subject, drive_away, settle

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """One store for all tests here."""
    opened = open_lab(concerns=CONCERNS)
    yield opened
    opened.close()
    assert not accounting_store.search(
        f"{opened.settings.data}/", accounting_store.of(opened.settings.data, "slurm").uid
    )


@pytest.fixture(scope="module")
def booked(lab: Lab) -> StepContext:
    """A cluster with accounting from its first moment on, and one member."""
    return lab.bring_up(lab.cluster())


@case("U38")
class TestAccounting(DriverContract):
    """accounting"""

    @pytest.fixture
    def subject(self, lab: Lab) -> Subject:
        """A cluster with machines and no books."""
        return AccountingSubject(lab)


@case("U38")
class TestAccounts(DriverContract):
    """accounts"""

    points = (1, 2, 3, 5)

    @pytest.fixture
    def subject(self, lab: Lab, booked: StepContext) -> Subject:
        """A cluster whose slurmdbd knows nobody."""
        subject = AccountsSubject(lab, booked)
        subject.fresh()
        return subject

    def test_a_namesake_without_our_mark_is_left_alone(self, subject: AccountsSubject) -> None:  # type: ignore[override]
        member = subject.ctx.spec.accounts[-1].name
        subject.sacctmgr("add", "account", "theirs", f"Cluster={subject.ctx.spec.name}")
        subject.sacctmgr("add", "user", member, "Account=theirs")
        try:
            settle(subject.step, subject.ctx)
            told = subject.lab.slurm(subject.ctx, "sacctmgr", "-nP", "show", "assoc", "format=account,user")
            assert {f"theirs|{member}", f"team-a|{member}"} <= set(told.split())
        finally:  # jobs of the tests after this one would be charged to that account
            subject.sacctmgr("remove", "user", f"name={member}")
            subject.sacctmgr("remove", "account", "name=theirs")
            subject.fresh()


def test_slurm_tells_its_slurmdbd_what_jobs_took(lab: Lab, booked: StepContext) -> None:
    settle(lab.site["accounts"], booked)
    member = booked.spec.accounts[-1].name

    def told() -> str:
        # slurmctld hears of new users by itself, a moment later
        assert lab.run(booked, "echo hello").strip() == "hello"
        fields = "--format=user,account,state,alloctres"
        return lab.slurm(booked, "sacct", "-aXnP", "--name=allocation", fields)

    until(lambda: f"{member}|team-a|COMPLETED" in told(), what="the job stands in the books")
    users = AccountsSubject(lab, booked).users()
    kinds = {account.kind: account.name for account in booked.spec.accounts}
    assert users[kinds["administrator"]] == "Administrator"
    assert users[kinds["observer"]] == users[kinds["member"]] == "None"


def test_its_administrator_suspends_and_resumes_by_the_console(lab: Lab, booked: StepContext) -> None:
    settle(lab.site["accounts"], booked)
    kinds: dict[str, str] = {account.kind: account.name for account in booked.spec.accounts}
    host, _, port = booked.facts["slurm"]["controller"].rpartition(":")

    def console(account: str) -> LocalConsole:
        where = Controller(booked.facts["slurm"]["cluster_name"], host, int(port))
        return LocalConsole(where, account, lambda: tokens.mint(account, booked.secrets["slurm-jwt-key"]))

    job = lab.submit(booked, "sleep 300")
    gateway = lab.gateway(booked, kinds["member"])
    until(lambda: gateway.job(job)[0].state == "RUNNING", what="it runs")
    for who, verb, state in (
        ("member", "suspend", "RUNNING"),
        ("administrator", "suspend", "SUSPENDED"),
        ("member", "resume", "SUSPENDED"),
        ("administrator", "resume", "RUNNING"),
    ):
        with contextlib.suppress(Unreadable, errors.NotPermitted):  # 22.05 tells neither yes nor no
            getattr(console(kinds[who]), verb)(str(job))
        assert gateway.job(job)[0].state == state
    gateway.cancel(str(job))


def test_jobs_run_while_slurmdbd_is_down_and_it_is_started_again(lab: Lab, booked: StepContext) -> None:
    step, books = lab.site["accounting"], books_of(lab, booked)
    (found,) = accounting_books.running(books)
    assert processes.send_signal(found.record, signal.SIGKILL)
    assert not daemons.wait_gone([found.record], seconds=20)
    seen = step.observe(booked)
    assert (seen.ready, seen.reason) == (False, "AccountingDown")
    assert "Jobs run" in seen.message
    without = dataclasses.replace(booked, facts={k: v for k, v in booked.facts.items() if k != "accounting"})
    assert lab.site["slurm"].observe(without).ready  # Slurm stays as it is
    assert lab.run(without, "echo still").strip() == "still"
    settle(step, booked)
    assert lab.site["slurm"].observe(booked).ready


def test_a_member_who_left_is_no_user_any_more(lab: Lab, booked: StepContext) -> None:
    step = lab.site["accounts"]
    settle(step, booked)
    *others, member = booked.spec.accounts
    gone = dataclasses.replace(member, active=False)
    left = dataclasses.replace(booked, spec=dataclasses.replace(booked.spec, accounts=(*others, gone)))
    assert step.observe(left).reason == "AccountsDiffer"
    settle(step, left)
    assert member.name not in AccountsSubject(lab, booked).users()
    settle(step, booked)
    later(lab, booked)
    assert step.observe(booked).ready
    assert member.name in AccountsSubject(lab, booked).users()


def test_slurmdbd_of_one_tenant_cannot_read_the_books_of_another(lab: Lab, booked: StepContext) -> None:
    other = lab.prepare(lab.cluster(), until="slurm")
    mine, theirs = books_of(lab, booked), books_of(lab, other)

    def read(database: str) -> int:
        command = ["mariadb", "--no-defaults", f"--socket={mine.store.socket}", f"--user={mine.name}"]
        return subprocess.run(
            [*command, database, "-e", "SELECT 1"],
            check=False,
            capture_output=True,
            env={"PATH": PATH, "MYSQL_PWD": mine.password.read_text()},
        ).returncode

    assert read(mine.name) == 0
    assert read(theirs.name) != 0
    drive_away(lab.site["accounting"], other)


def test_the_store_listens_to_nobody_but_this_machine_s_slurm_and_root(lab: Lab, booked: StepContext) -> None:
    store = books_of(lab, booked).store
    (server,) = accounting_store.search(str(store.root), store.uid)
    assert accounting_store.count(store, "mysql.global_priv WHERE Host <> 'localhost'") == 0
    table = (processes.PROC / str(server.record.pid) / "net" / "tcp").read_text()
    inodes = {line.split()[9] for line in table.splitlines()[1:] if line.split()[3] == "0A"}
    held = {str(path.readlink()) for path in (processes.PROC / str(server.record.pid) / "fd").iterdir()}
    assert not {f"socket:[{inode}]" for inode in inodes} & held
    (slurmdbd,) = accounting_books.running(books_of(lab, booked))
    assert daemons.listens(booked.ports[slurmconf.DATABASE])
    assert slurmdbd.record.pid != server.record.pid


def test_what_a_cluster_did_is_kept_when_it_goes(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    lab.run(ctx, "true")
    store = books_of(lab, ctx).store
    until(
        lambda: accounting_store.count(
            store,
            f"{books_of(lab, ctx).name}.`{ctx.spec.name}_job_table`"
            # slurmctld tells of a start up to five seconds later
            " WHERE state = 3 AND job_name = 'allocation' AND account = 'team-a'",
        ),
        what="slurmdbd knows that it ended",
    )
    lab.take_down(ctx)
    path = accounting_export.folder(store) / f"{ctx.spec.name}.tsv.gz"
    head, *rows = gzip.decompress(path.read_bytes()).decode().splitlines()
    jobs = [dict(zip(head.split("\t"), row.split("\t"), strict=True)) for row in rows]
    (job,) = [job for job in jobs if job["name"] == "allocation"]
    assert (job["state"], job["account"], job["partition"]) == ("COMPLETED", "team-a", "train")
    assert path.stat().st_mode & 0o777 == 0o600
    accounting_export.forget(store, days=1)
    assert path.exists()
    os.utime(path, (0, 0))
    accounting_export.forget(store, days=1)
    assert not path.exists()


def test_without_its_programs_a_cluster_works_and_gets_its_books_later(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx, step = lab.cluster(), lab.site["accounting"]
    monkeypatch.setattr(accounting_store, "PROGRAMS", (*accounting_store.PROGRAMS, "no-such-program"))
    with pytest.raises(PermanentError) as missing:
        step.apply(ctx)
    assert (missing.value.reason, bool(missing.value.hint)) == ("AccountingMissing", True)
    without = dict(lab.site)
    del without["accounting"], without["accounts"]
    for name, one in without.items():
        ctx = dataclasses.replace(ctx, facts={**ctx.facts, name: settle(one, ctx).facts})
    job = lab.submit(ctx, "sleep 600")
    monkeypatch.undo()
    ctx = lab.bring_up(ctx)
    assert slurmconf.tells_accounting((lab.folder(ctx) / "etc" / "slurm.conf").read_text())
    assert lab.gateway(ctx, ctx.spec.accounts[-1].name).job(job)[0].state in {"PENDING", "RUNNING"}
    lab.take_down(ctx)


def test_ctrl_c_ends_the_store_too(lab: Lab) -> None:
    other = open_lab(concerns=CONCERNS)
    try:
        ctx = other.prepare(other.cluster(), until="slurm")
        store = books_of(other, ctx).store
        assert accounting_store.search(str(store.root), store.uid)
        teardown.stop_all(other.settings.data)
        assert not accounting_store.search(str(store.root), store.uid)
        assert other.site["accounting"].observe(ctx).reason == "AccountingDown"
        settle(other.site["accounting"], ctx)
        assert files.read_json(books_of(other, ctx).place.mark)
    finally:
        other.close()


def test_sql_that_fails_is_trouble_that_may_pass(lab: Lab, booked: StepContext) -> None:
    with pytest.raises(TemporaryError) as down:
        accounting_store.sql(books_of(lab, booked).store, "SELECT nothing FROM nowhere;")
    assert down.value.reason == "AccountingDown"
