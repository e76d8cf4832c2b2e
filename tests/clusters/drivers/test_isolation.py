"""Two tenants beside each other: what a job of one reaches of the other, of the portal, of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.clients.slurmrest import tokens
from clusters.clients.slurmrest.models import SubmitRequest
from clusters.drivers.local import daemons
from clusters.provisioning.steps import StepContext
from portal.lib.errors import OutsideError
from tests.clusters.drivers.lab import Lab, until

INTRUDER = Path(__file__).with_name("intruder.py")
PRIVATE = ("pg", "redis", "keys", "state", "log")
pytestmark = [pytest.mark.slow]

Attempts = dict[str, tuple[str, str]]


@pytest.fixture
def two(lab: Lab) -> tuple[StepContext, StepContext]:
    """Two clusters of two tenants, all the way up."""
    return lab.bring_up(lab.cluster(members=2)), lab.bring_up(lab.cluster(members=1))


@pytest.fixture
def portal_sockets(lab: Lab) -> Iterator[tuple[Path, Path]]:
    """The private folders of the data folder, with listening sockets as PostgreSQL and Redis have them."""
    for name in PRIVATE:
        (lab.settings.data / name).mkdir(mode=0o700)
    (lab.settings.data / "keys" / "fernet").write_text("secret")
    paths = lab.settings.data / "pg" / ".s.PGSQL.5432", lab.settings.data / "redis" / "redis.sock"
    with contextlib.ExitStack() as stack:
        for path in paths:
            server = stack.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX)))
            server.bind(str(path))
            path.chmod(0o777)  # the folder alone has to keep others out
            server.listen(8)
        yield paths


def allowed(lab: Lab, own: StepContext) -> Attempts:
    """What every job may do."""
    home = lab.folder(own) / "home" / own.spec.accounts[-1].name
    return {
        "own home": ("list", str(home)),
        "own home for writing": ("write", str(home)),
        "own slurm.conf": ("read", str(lab.folder(own) / "etc/slurm.conf")),
        "own munge": ("connect", str(lab.folder(own) / "run/munge.socket")),
        "own slurmrestd": ("rest", own.facts["slurm"]["url"]),
    }


def forbidden(lab: Lab, own: StepContext, other: StepContext, sockets: tuple[Path, Path]) -> Attempts:
    """What no job may do, though it is there."""
    mine, theirs, data = lab.folder(own), lab.folder(other), lab.settings.data
    colleague = mine / "home" / own.spec.accounts[-2].name
    attempts = {
        "the data folder": ("list", str(data)),
        "the list of clusters": ("list", str(data / "clusters")),
        "PostgreSQL": ("connect", str(sockets[0])),
        "Redis": ("connect", str(sockets[1])),
        "the portal's key": ("read", str(data / "keys/fernet")),
        "the other's folder": ("list", str(theirs)),
        "the other's slurm.conf": ("read", str(theirs / "etc/slurm.conf")),
        "the other's munge": ("connect", str(theirs / "run/munge.socket")),
        "the other's homes": ("list", str(theirs / "home" / other.spec.accounts[-1].name)),
        "a colleague's home": ("list", str(colleague)),
        "own daemons' state": ("list", str(mine / "state")),
        "own mark": ("read", str(mine / "freehold.json")),
        "own configuration": ("write", str(mine / "etc")),
        "own bin": ("write", str(mine / "bin")),
        "homes": ("write", str(mine / "home")),
        "own logs": ("list", str(mine / "log")),
    }
    for whose, root in (("own", mine), ("the other's", theirs)):
        attempts |= {f"{whose} {key}": ("read", str(root / "keys" / key)) for key in ("jwt.key", "munge.key")}
        for role, one in daemons.of_cluster(root / "etc/slurm.conf", range(2**31)).items():
            attempts[f"{whose} {role}'s environment"] = ("read", f"/proc/{one.record.pid}/environ")
            attempts[f"{whose} {role} as a process"] = ("signal", str(one.record.pid))
    return {**attempts, **{f"private {name}": ("list", str(data / name)) for name in PRIVATE}}


def as_root(attempts: Attempts, account: str, token: str) -> dict[str, object]:
    """The same attempts by somebody who may do all of it."""
    run = subprocess.run(
        [sys.executable, "-I", str(INTRUDER), json.dumps(attempts)],
        env={"ACCOUNT": account, "TOKEN": token, "PATH": os.environ["PATH"]},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    answer: dict[str, object] = json.loads(run.stdout)
    return answer


def as_job(lab: Lab, ctx: StepContext, attempts: Attempts, account: str, token: str) -> dict[str, object]:
    """The attempts by a member's job."""
    home = lab.folder(ctx) / "home" / account
    program = home / "intruder.py"
    program.write_text(INTRUDER.read_text())
    program.chmod(0o644)
    gateway = lab.gateway(ctx, account)
    job = gateway.submit(
        SubmitRequest(
            script=f"#!/bin/sh\nexec /usr/bin/python3 -I intruder.py {shlex.quote(json.dumps(attempts))}\n",
            environment={"PATH": "/usr/bin:/bin", "ACCOUNT": account, "TOKEN": token},
            working_directory=str(home),
            stdout=str(home / "answer"),
        )
    )
    until(lambda: gateway.job(job.job_id)[0].is_finished, seconds=120, what="the job has ended")
    answer: dict[str, object] = json.loads((home / "answer").read_text())
    return answer


def test_a_job_reaches_its_own_things_only(
    lab: Lab, two: tuple[StepContext, StepContext], portal_sockets: tuple[Path, Path]
) -> None:
    own, other = two
    account = own.spec.accounts[-1].name
    token = tokens.mint(account, own.secrets["slurm-jwt-key"])
    may, may_not = allowed(lab, own), forbidden(lab, own, other, portal_sockets)
    elsewhere: Attempts = {"the other's slurmrestd": ("rest", other.facts["slurm"]["url"])}

    assert as_root({**may, **may_not}, account, token) == dict.fromkeys({**may, **may_not}, True)
    theirs = other.spec.accounts[-1].name
    their_token = tokens.mint(theirs, other.secrets["slurm-jwt-key"])
    assert as_root(elsewhere, theirs, their_token) == dict.fromkeys(elsewhere, True)

    could = as_job(lab, own, {**may, **may_not, **elsewhere}, account, token)
    assert {name for name, result in could.items() if result is True} == set(may)
    hidden = {name for name in may_not if name.endswith("environment")}
    assert {could[name] for name in hidden} == {"FileNotFoundError"}  # /proc shows nobody else's processes
    assert {could[name] for name in may_not if name not in hidden} == {"PermissionError"}
    assert could["the other's slurmrestd"] == "HTTPError"


def test_a_token_is_good_for_one_cluster(lab: Lab, two: tuple[StepContext, StepContext]) -> None:
    own, other = two
    account = own.spec.accounts[-1].name
    assert lab.gateway(own, account).nodes()
    request = SubmitRequest(
        script="#!/bin/sh\n", environment={"PATH": "/bin"}, working_directory="/", hold=True
    )
    job = lab.gateway(own, account).submit(request)
    lab.gateway(own, account).cancel(str(job.job_id))

    crossed = StepContext(spec=own.spec, facts=other.facts, secrets=own.secrets)
    with pytest.raises(OutsideError):
        lab.gateway(crossed, account).nodes()
    with pytest.raises(OutsideError):
        lab.gateway(crossed, account).submit(request)
    listing = lab.gateway(other, other.spec.accounts[-1].name).jobs()
    assert listing is not None
    assert account not in {job.user_name for job in listing.jobs}
