"""What the check refuses Slurm refuses too, or never starts; and what it lets pass Slurm runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.accounting import RestAccounting
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.models import JobId
from clusters.models import SlurmEndpoint
from clusters.services import observation
from jobs.observer.partitions import save_partitions
from jobs.rules import saving
from jobs.rules.view import OpenJobs, RulesView, rules_of
from jobs.services import requests
from jobs.services.capacity import ClusterView, view_of
from jobs.services.drafts import Draft, DraftRefused, Typed, read_draft
from portal.lib import clock
from tests.builders import make_tenant
from tests.clusters.builders import make_site
from tests.contract.slurmrest.lab import SlurmLab, until
from tests.contract.slurmrest.places import RELEASES
from tests.jobs.builders import make_slurm_cluster

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.timeout(240)]
SCRIPT = "#!/bin/sh\nexit 0\n"
CLOSED = "AccountNotAllowed"  # at first, until the scheduler has looked: PartitionConfig
HELD = frozenset({"associations", "limits", "qos"})
BOOKS = """\
add qos brief,strict,few,capped,wide,free,stranger,limited,full,shut,alone
modify qos brief set maxwall=01:00:00
modify qos strict set maxtresperjob=cpu=3 maxtrespu=gres/gpu=2 flags=DenyOnLimit
modify qos few set maxsubmitjobspu=2
modify qos capped set grptres=gres/gpu=2 maxtresminsperjob=cpu=100 maxtrespernode=cpu=2
modify qos wide set mintres=cpu=2
modify qos free set flags=PartitionTimeLimit
modify qos limited set maxtrespu=gres/gpu=2
add account other Cluster={cluster}
add account below Cluster={cluster} parent=research
add user {member} Account=below Cluster={cluster}
add user {other} Account=below Cluster={cluster}
add account spent Cluster={cluster}
add user {member} Account=spent Cluster={cluster}
modify account below set grpsubmitjobs=4 grpwall=30
modify account spent set grpwall=0
modify qos full set grpsubmitjobs=1
modify qos shut set grpjobs=0
modify qos alone set maxsubmitjobsperaccount=1
modify user {other} where account=below set qos+=full,alone
modify user {member} where account=below set qos+=full,alone
modify user {member} where account=research set qos+=brief,strict,few,capped,wide,free,shut
modify account research set grptres=gres/gpu=4 maxwall=600 grptresmins=gres/gpu=6000
"""
# field that the check names, and Slurm's code (it refuses) or reason (it never starts)
REFUSED: list[tuple[dict[str, str], str, int | str]] = [
    ({"account": "nope"}, "account", 2045),
    ({"account": "other"}, "account", 2045),
    ({"qos": "nope"}, "qos", 2066),
    ({"qos": "stranger"}, "qos", 2066),
    ({"qos": "strict", "cpus_per_task": "4"}, "cpus_per_task", 2050),
    ({"qos": "strict", "gpus": "3"}, "gpus", 2050),
    ({"qos": "few", "array": "0-2"}, "array", 2050),
    ({"array": "0-1001"}, "array", 2081),
    ({"qos": "brief", "time_limit_minutes": "61"}, "time_limit_minutes", "QOSMaxWallDurationPerJobLimit"),
    ({"qos": "capped", "gpus": "3"}, "gpus", "QOSGrpGRES"),
    ({"qos": "capped", "cpus_per_task": "3"}, "cpus_per_task", "QOSMaxCpuPerNode"),
    (
        {"qos": "capped", "cpus_per_task": "2", "time_limit_minutes": "51"},
        "time_limit_minutes",
        "QOSMaxCpuMinutesPerJobLimit",
    ),
    ({"qos": "wide"}, "tasks", "QOSMinCpuNotSatisfied"),
    ({"time_limit_minutes": "601"}, "time_limit_minutes", "AssocMaxWallDurationPerJobLimit"),
    ({"nodes": "2", "gpus": "3"}, "gpus", "AssocGrpGRES"),
    ({"partition": "closed"}, "partition", CLOSED),
    ({"partition": "denied"}, "partition", CLOSED),
    ({"partition": "limited", "gpus": "3"}, "gpus", "QOSMaxGRESPerUser"),
    ({"account": "below", "array": "0-3"}, "array", 2050),  # of another member's job and these
    ({"account": "below", "qos": "alone"}, "qos", 2050),
    ({"account": "spent"}, "account", "AssocGrpWallLimit"),
    ({"qos": "shut"}, "qos", "QOSGrpJobsLimit"),
]
OTHERS = ("--hold", "--account=below", "--qos=alone")  # a job of somebody else that waits meanwhile
TAKEN: list[dict[str, str]] = [
    {},
    {"account": "RESEARCH", "qos": "BRIEF", "time_limit_minutes": "60"},
    {"qos": "strict", "cpus_per_task": "3", "gpus": "2"},
    {"qos": "few", "array": "0-1"},
    {"array": "1000"},
    {"qos": "capped", "cpus_per_task": "2", "gpus": "2", "time_limit_minutes": "50"},
    {"qos": "wide", "tasks": "2"},
    {"qos": "free", "partition": "short", "time_limit_minutes": "20"},
    {"time_limit_minutes": "600", "gpus": "4"},
    {"partition": "limited", "gpus": "2"},
    {"account": "below", "time_limit_minutes": "31"},  # more than all may run together: it begins
]


def seen_in(lab: SlurmLab, member: str) -> tuple[ClusterView, RulesView]:
    """What observer and reader of accounting keep of the lab's cluster, as one member's form sees it."""
    make_site()
    cluster = make_slurm_cluster(make_tenant(), nodes=1)
    cluster.partitions.all().delete()
    cluster.nodes.all().delete()
    gateway, now = lab.gateway(), clock.now()
    save_partitions(cluster, gateway.partitions(), seen_at=now)
    observation.save_nodes(cluster, gateway.nodes(), seen_at=now)
    api = lab.versions[0]
    release = gateway.ping().release
    SlurmEndpoint.objects.filter(cluster=cluster).update(api_version=api, release=release)
    books = RestAccounting(lab.url, api, member, lambda: lab.token(member))
    told = saving.read(books, lab.name)
    assert told is not None
    saving.save(cluster, told, seen_at=now)
    rules = rules_of(cluster, member)
    assert rules is not None
    assert (rules.enforces == HELD, rules.max_array_size) == (
        (True, 1001) if api == "v0.0.45" else (False, None)
    )
    assert (rules.used is None) == (api == "v0.0.38")
    return view_of(cluster), dataclasses.replace(rules, enforces=HELD)


def keep_accounts(lab: SlurmLab) -> str:
    """Accounts, QOS and a member in them; what slurmctld knows of them too."""
    member, other = (account.name for account in lab.members[:2])
    text = BOOKS.format(cluster=lab.name, member=member, other=other)
    lab.run(["sacctmgr", "--immediate", "--quiet"], text=text)
    lab.command("scontrol", "update", "PartitionName=limited", "QOS=limited")

    def is_known() -> bool:
        told = lab.command("scontrol", "show", "assoc_mgr", f"user={member}", "flags=assoc")
        return "below" in told and "capped" not in told.partition("UserName=")[0] and "MaxWallPJ=600" in told

    until(is_known, what="slurmctld knows the accounts")
    return member


def send(lab: SlurmLab, draft: Draft) -> JobId | int:
    """The job, or the code with which Slurm refuses it."""
    account = lab.members[0].name
    request, _origins = requests.assemble(draft, account=account, home=str(lab.home()), mark="m" * 12)
    try:
        return lab.gateway().submit(request).job_id
    except errors.SlurmRefused as refused:
        return -(refused.code or 0)


@pytest.mark.parametrize(
    "release", [pytest.param(name, marks=pytest.mark.xdist_group(f"slurm {name}")) for name in RELEASES]
)
def test_check_and_slurm_agree(release: str, strict_release: Callable[[str], SlurmLab]) -> None:
    lab = strict_release(release)
    member = keep_accounts(lab)
    others = lab.run(
        ["sbatch", "--parsable", *OTHERS, "--wrap=true"], member=1, cwd=lab.home(1)
    ).stdout.strip()
    view, rules = seen_in(lab, member)
    there = OpenJobs("below", "alone", "debug", is_mine=False, is_running=False, tasks=1)
    rules = dataclasses.replace(rules, open_jobs=lambda: [there])
    cases = [*REFUSED, _below(release)]
    if release != "bookworm":  # v0.0.38 does not tell this limit
        cases.append(({"account": "below", "qos": "full", "array": "0-1"}, "array", 2050))
    waiting: dict[int, str] = {}
    for fields, field, expected in cases:
        typed = Typed(fields=fields, script=SCRIPT)
        with pytest.raises(DraftRefused) as refused:
            read_draft(typed, view, rules)
        assert set(refused.value.fields) == {field}, (fields, refused.value.fields)
        draft = (
            read_draft(dataclasses.replace(typed, insists=True), view, rules) if expected != 2081 else None
        )
        if draft is None:
            continue
        answer = send(lab, draft)
        if isinstance(expected, int):
            assert answer == -expected, (fields, answer)
        else:
            assert answer > 0, (fields, answer)
            waiting[answer] = expected
    passing = [*TAKEN, {"account": "below", "partition": "denied" if release == "bookworm" else "parent"}]
    running = [
        (fields, send(lab, read_draft(Typed(fields=fields, script=SCRIPT), view, rules)))
        for fields in passing
    ]
    assert [fields for fields, answer in running if answer < 0] == []
    left: list[object] = []

    def all_settled() -> bool:
        left[:] = _unsettled(lab.gateway(), waiting, running)
        return not left

    try:
        until(all_settled, seconds=60, what="Slurm says of each what the check said")
    except AssertionError as error:
        raise AssertionError(left) from error
    finally:
        lab.command("scancel", others, *map(str, waiting))


def _unsettled(
    gateway: RestGateway, waiting: dict[int, str], running: list[tuple[dict[str, str], int]]
) -> list[object]:
    """What waits for another reason, or waits at all and should not."""
    jobs = {job.job_id: job for number in waiting for job in gateway.job(number)}
    wrong: list[object] = [
        (expected, jobs[JobId(number)].reason)
        for number, expected in waiting.items()
        if jobs[JobId(number)].reason != expected
        and (expected, jobs[JobId(number)].reason) != (CLOSED, "PartitionConfig")
    ]
    for fields, number in running:
        records = gateway.job(number)
        wrong += [(fields, job.reason) for job in records if job.state == "PENDING"]
    return wrong


def _below(release: str) -> tuple[dict[str, str], str, str]:
    """Of an account below: only newer releases mean it where a partition names the one above."""
    partition = "parent" if release == "bookworm" else "denied"
    return {"account": "below", "partition": partition}, "account", CLOSED
