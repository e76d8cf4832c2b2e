"""Limits of members in clusters of Slinky: what Slurm is told, and who is made a user of slurmdbd."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from clusters.clients.slurmrest.errors import SlurmRefused
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.drivers.slinky import conf, shapes, values
from clusters.drivers.slinky.identity import UNKNOWN_USER, IdentityStep
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.drivers.slurm_probe.users import Seen, slurm_account
from clusters.provisioning.steps import AccountSpec, ClusterSpec, StepContext
from portal.lib.errors import OutsideError, PermanentError, TemporaryError
from tests.contract.kube.driven import spec_of
from tests.kube.fake_slurm import FakeSlurm

DATABASE = {"slinky": {"install": "direct", "database": {"host": "db.example"}}}
ENFORCE = "AccountingStorageEnforce=limits"


def test_slurm_holds_to_limits_only_where_there_are_some_and_books() -> None:
    limited = dataclasses.replace(spec_of(), enforces_limits=True)
    assert ENFORCE in conf.extra_conf(limited, accounting=True)
    assert ENFORCE not in conf.extra_conf(limited, accounting=False)
    assert ENFORCE not in conf.extra_conf(spec_of(), accounting=True)


def test_members_reorder_their_jobs_where_the_site_lets_them() -> None:
    for told in (True, False, "yes"):
        settings = SlinkySettings.from_site({**DATABASE, "slurm_user_top": told})
        direct = shapes.controller(spec_of(), settings).manifest["spec"]["extraConf"]
        chart = values.slurm(spec_of(), settings, {pool.name: 1 for pool in spec_of().pools}).values
        for text in (direct, chart["controller"]["extraConf"]):
            assert ("SchedulerParameters=enable_user_top" in text) == (told is True)


def test_slurmdbd_knows_the_administrator_by_the_same_files_as_the_others() -> None:
    settings = SlinkySettings.from_site(DATABASE)
    assert settings.database is not None
    spec: dict[str, Any] = dict(shapes.accounting(spec_of(), settings.database, settings).manifest["spec"])
    seen = {one["mountPath"] for one in spec["slurmdbd"]["volumeMounts"]}
    assert seen == {"/var/lib/extrausers", "/etc/nsswitch.conf"}
    volumes = {one["name"] for one in spec["template"]["spec"]["volumes"]}
    assert {one["name"] for one in spec["slurmdbd"]["volumeMounts"]} <= volumes
    chart = values.slurm(spec_of(), settings, {pool.name: 1 for pool in spec_of().pools}).values["accounting"]
    assert chart["slurmdbd"]["volumeMounts"] == spec["slurmdbd"]["volumeMounts"]
    assert chart["podSpec"]["volumes"] == spec["template"]["spec"]["volumes"]


def accounts() -> ClusterSpec:
    """An administrator, an observer, a member, and one who left."""
    kinds = (
        ("fhadmin1", "administrator"),
        ("fhlooks1", "observer"),
        ("fhnina1", "member"),
        ("fhgone1", "member"),
    )
    made = tuple(
        AccountSpec(name, 70001 + at, 70000, kind, active=name != "fhgone1")  # type: ignore[arg-type]
        for at, (name, kind) in enumerate(kinds)
    )
    return dataclasses.replace(spec_of(), name="c-abc", tenant="aurora", accounts=made)


def commands(seen: Seen) -> list[str]:
    """As one would type them after sacctmgr."""
    spec = accounts()
    return [" ".join(words) for words in seen.commands(spec, seen.leaving(spec))]


def test_what_sacctmgr_is_asked_for() -> None:
    every = ("fhadmin1", "fhlooks1", "fhnina1", "fhgone1")
    where = "Account=aurora Cluster=c-abc"
    assert commands(Seen.of("", accounts(), every)) == [
        "add account aurora Cluster=c-abc Description=aurora",
        f"add user fhadmin1 {where} AdminLevel=Administrator",
        f"add user fhlooks1,fhnina1 {where} AdminLevel=None",
    ]
    there = """\
fhadmin1|None|aurora|c-abc
fhlooks1|None|aurora|c-abc
fhgone1|None|aurora|c-abc
root|Administrator|root|c-abc
fhother1|None|boreas|c-abc
dana|None|aurora|c-abc
"""
    assert commands(Seen.of(there, accounts(), every)) == [
        "modify user where name=fhadmin1 set AdminLevel=Administrator",
        f"add user fhnina1 {where} AdminLevel=None",
        "remove user where name=fhgone1",
    ]
    # nobody is made whom Slurm's machines do not know yet
    assert commands(Seen.of(there, accounts(), ("fhadmin1",))) == [
        "modify user where name=fhadmin1 set AdminLevel=Administrator",
        "remove user where name=fhgone1",
    ]


@pytest.mark.parametrize("slug", ["a b", "x;y", "", "-a", "A"])
def test_a_name_that_slurm_would_read_otherwise_is_refused(slug: str) -> None:
    with pytest.raises(PermanentError, match="no account name"):
        slurm_account(dataclasses.replace(spec_of(), tenant=slug))


class Refusing(FakeSlurm):
    """Knows every account and none of them as a user of slurmdbd."""

    def gateway(self, ctx: StepContext, account: str, version: str = "") -> SlurmGateway:
        """Its submit is refused."""
        found: Any = super().gateway(ctx, account, version)

        def submit(request: object) -> None:
            raise SlurmRefused(UNKNOWN_USER, "Invalid account or account/partition combination specified")

        found.submit = submit
        return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(("enforces", "error"), [(True, TemporaryError), (False, PermanentError)])
def test_an_account_that_is_no_user_yet_is_waited_for_where_limits_hold(
    enforces: bool, error: type[OutsideError]
) -> None:
    spec = dataclasses.replace(accounts(), enforces_limits=enforces)
    kept = {"slurm-jwt-key": bytes(32)}
    ctx = StepContext(
        spec=spec, secrets=kept, facts={"slurm": {"api_version": "v0.0.44"}}, keep=lambda *told: None
    )
    step = IdentityStep(SlinkySettings(), lambda _: pytest.fail("asked"), Refusing())
    with pytest.raises(error) as refused:
        step._prove(ctx, spec.accounts[2])
    assert (refused.value.reason == "IdentityNotShown") == enforces
