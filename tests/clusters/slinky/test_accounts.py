"""Accounts of members as users of slurmdbd, with real Slurm behind a real API server and a kubelet."""

from __future__ import annotations

import dataclasses

import pytest

from clusters.clients.slurmrest import tokens
from clusters.clients.slurmrest.accounting import RestAccounting
from clusters.clients.slurmrest.past import AssociationLimits
from clusters.drivers.slinky import inside
from clusters.drivers.slinky.accounts import AccountsStep
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.provisioning.steps import AccountSpec, ClusterSpec, Observed, StepContext
from portal.lib.errors import TemporaryError
from tests.contract.kube.driven import spec_of
from tests.contract.slurmrest.lab import SlurmLab
from tests.kube.kubelet import Answer
from tests.kube.pods import SlurmPods

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("pods")]


def spec(lab: SlurmLab) -> ClusterSpec:
    """One administrator, an observer and a member, all of them users of this machine."""
    kinds = ("administrator", "observer", "member")
    accounts = tuple(
        AccountSpec(one.name, one.uid, one.gid, kind, active=True)  # type: ignore[arg-type]
        for one, kind in zip(lab.members[-3:], kinds, strict=True)
    )
    return dataclasses.replace(spec_of(), name=lab.name, tenant="aurora", accounts=accounts)


def users(lab: SlurmLab) -> dict[str, str]:
    """As slurmdbd lists those of the tenant's account."""
    shown = lab.command("sacctmgr", "-nP", "show", "user", "withassoc", "format=user,adminlevel,account")
    rows = [line.split("|") for line in shown.splitlines()]
    return {row[0]: row[1] for row in rows if row[2] == "aurora"}


def settled(step: AccountsStep, ctx: StepContext) -> Observed:
    """After as many passes as it takes."""
    for _ in range(3):
        seen = step.observe(ctx)
        if seen.ready:
            break
        if not (seen.exists and seen.in_sync):
            step.apply(ctx)
    return step.observe(ctx)


def test_users_follow_the_accounts_and_limits_go_by_rest(
    slurm_pods: SlurmPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, node, programs, portal = slurm_pods.lab, slurm_pods.node, slurm_pods.programs, slurm_pods.portal
    kept: dict[str, bytes] = {}
    ctx = StepContext(spec=spec(lab), secrets=kept, keep=lambda name, value, _: kept.update({name: value}))
    step = AccountsStep(SlinkySettings(), lambda _: portal)
    assert step.observe(ctx).exists is False
    # files reach pods late: who is not known there yet is made later, since slurmctld would find no uid
    admin, observer, member = (one.name for one in ctx.spec.accounts)
    programs.unknown = member
    seen = settled(step, ctx)
    assert (seen.exists, seen.in_sync, seen.ready, seen.reason) == (True, True, False, "AccountsDiffer")
    assert member in seen.message
    assert users(lab) == {admin: "Administrator", observer: "None"}
    programs.unknown = ""
    seen = settled(step, ctx)
    assert (seen.ready, dict(seen.facts)) == (True, {"account": "aurora"})
    assert users(lab) == {admin: "Administrator", observer: "None", member: "None"}
    asked = node.asked[-1]
    assert (asked.pod, asked.container) == ("slurm/slurm-controller-0", "slurmctld")
    assert not any(word in {"sh", "bash", "-c"} for one in node.asked for word in one.command)
    # what was seen is believed for a while
    before = len(node.asked)
    assert step.observe(ctx).ready
    assert len(node.asked) == before

    # limits of members go through /slurmdb as the administrator that was made so
    books = RestAccounting(lab.url, lab.versions[0], admin, lambda: tokens.mint(admin, lab.key), 20)
    limits = AssociationLimits(account="aurora", cluster=lab.name, user=member, running_jobs=2, gpus=1)
    books.set_limits(limits)
    assert limits in {one.limits for one in books.associations()}

    # somebody took the administrator's level away: seen with both values, and set right
    lab.command("sacctmgr", "-i", "-Q", "modify", "user", "where", f"name={admin}", "set", "AdminLevel=None")
    monkeypatch.setattr("clusters.drivers.slinky.accounts.BELIEVED", 0.0)
    seen = step.observe(ctx)
    assert [(one.thing, one.path, one.wanted, one.found) for one in seen.differences] == [
        (f"Slurm user {admin}", "AdminLevel", "Administrator", "None")
    ]
    assert settled(step, ctx).ready
    assert users(lab)[admin] == "Administrator"

    # who left is no user any more
    *others, last = ctx.spec.accounts
    left = dataclasses.replace(ctx.spec, accounts=(*others, dataclasses.replace(last, active=False)))
    gone = dataclasses.replace(ctx, spec=left)
    assert f"Slurm user {member}" in {one.thing for one in step.observe(gone).differences}
    assert settled(step, gone).ready
    assert member not in users(lab)
    step.remove(ctx)
    assert step.observe(ctx).exists is False


def test_no_pod_and_no_slurmdbd_are_waited_for(
    slurm_pods: SlurmPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, programs, portal = slurm_pods.lab, slurm_pods.programs, slurm_pods.portal
    kept: dict[str, bytes] = {}
    ctx = StepContext(spec=spec(lab), secrets=kept, keep=lambda name, value, _: kept.update({name: value}))
    step = AccountsStep(SlinkySettings(identity="sssd"), lambda _: portal)
    monkeypatch.setattr(inside, "CONTROLLER_POD", "slurm-controller-9")
    with pytest.raises(TemporaryError) as missing:
        step.apply(ctx)
    assert missing.value.reason == "AccountingStarting"
    assert kept == {}
    monkeypatch.undo()
    programs.answer = lambda asked: Answer(1, words=b"sacctmgr: error: connection refused")
    with pytest.raises(TemporaryError) as down:
        step.apply(ctx)
    programs.reset()
    assert down.value.reason == "AccountingDown"
