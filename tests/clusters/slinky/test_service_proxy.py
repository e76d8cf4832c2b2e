"""A real slurmrestd reached through the API server's service proxy, under the rights of deploy/rbac."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from clusters.clients.kube.client import KubeClient
from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import SubmitRequest
from clusters.drivers.slinky.identity import IdentityStep
from clusters.drivers.slinky.reach import Reach
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.drivers.slinky.smoke import SmokeStep
from clusters.kube import servers, tenant
from clusters.provisioning.steps import AccountSpec, ClusterSpec, FlavorSpec, PoolSpec, StepContext
from tenants.ids import short_name
from tests.contract.driver_contract import drive_away, settle
from tests.contract.slurmrest import lab as labs
from tests.kube import roles
from tests.kube.server import KubeServer
from tests.kube.slurm_behind import NamespacedLab, slurm_behind

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
FLAVOR = FlavorSpec("gpu-a100-4", "a100", labs.GPUS, labs.CPUS, labs.MEMORY)


@pytest.fixture(scope="module")
def slurm(kube_server: KubeServer) -> Iterator[NamespacedLab]:
    """Behind the session's API server."""
    with slurm_behind(kube_server) as lab:
        yield lab


@pytest.fixture
def ctx(kube_server: KubeServer, slurm: NamespacedLab) -> StepContext:
    """The cluster of that Slurm; the portal has its account in the API server, and Slurm's key."""
    key = uuid.uuid4()
    members = [
        AccountSpec(one.name, one.uid, one.gid, kind, active=True)  # type: ignore[arg-type]  # both are kinds
        for one, kind in zip(slurm.members, ("observer", "member"), strict=True)
    ]
    spec = ClusterSpec(
        id=str(key),
        name=f"c-{short_name(key)}",
        title="t",
        tenant="acme",
        installation="contract",
        pools=(PoolSpec("gpu", FLAVOR, ("a", "b")),),
        accounts=tuple(members),
        gid=members[0].gid,
    )
    secrets = {
        "slurm-jwt-key": slurm.key,
        tenant.KEPT_AS: tenant.pack(roles.access(kube_server, "tenant")),
    }
    return StepContext(
        spec=spec,
        secrets=secrets,
        facts={"slurm": {"api_version": "v0.0.38"}},
        keep=lambda name, value, _: secrets.update({name: value}),
    )


@pytest.fixture
def reach() -> Reach:
    """As a site without an address of its own has it."""
    return Reach(SlinkySettings())


def test_slurm_answers_through_the_api_server_and_knows_who_asks(ctx: StepContext, reach: Reach) -> None:
    observer, member = ctx.spec.accounts
    found = reach.discover(ctx, observer.name)
    assert (found.api, found.release) == ("v0.0.38", "22.05.8")
    gateway = reach.gateway(ctx, member.name, found.api)
    assert {node.name for node in gateway.nodes() if node.is_usable}
    job = gateway.submit(
        SubmitRequest(
            script="#!/bin/sh\nexit 0\n",
            environment={"PATH": "/bin"},
            partition="gpu",
            hold=True,
            working_directory="/tmp",
        )
    ).job_id
    (record,) = gateway.job(job)
    assert (record.user_name, record.state) == (member.name, "PENDING")
    with pytest.raises(errors.NotPermitted):
        reach.gateway(ctx, observer.name, found.api).cancel(str(job))
    gateway.cancel(str(job))
    assert gateway.job(job)[0].state == "CANCELLED"


def test_a_token_of_another_key_is_refused_behind_the_proxy_too(ctx: StepContext, reach: Reach) -> None:
    reach.discover(ctx, ctx.spec.accounts[0].name)
    ctx.secrets["slurm-jwt-key"] = b"another-tenant's-key-0123456789abcdef"  # type: ignore[index]  # a dict
    with pytest.raises(errors.TokenRefused):
        reach.discover(ctx, ctx.spec.accounts[0].name)


def test_the_portal_may_reach_no_other_service_by_the_proxy(ctx: StepContext) -> None:
    client = KubeClient(tenant.access_of(ctx.secrets))
    ours, others = client.behind("slurm", "slurm-restapi", 6820), client.behind("kube-system", "kube-dns", 53)
    assert ours.send("GET", "/openapi/v3", headers={}).status == 401  # Slurm's own refusal
    assert others.send("GET", "/", headers={}).status == 403


def test_members_are_shown_and_a_job_runs_on_its_gpu(ctx: StepContext, reach: Reach) -> None:
    identity, smoke = IdentityStep(SlinkySettings(), servers.of_tenant, reach), SmokeStep(reach)
    settle(identity, ctx)
    seen = settle(smoke, ctx)
    assert seen.facts["jobs"].startswith("gpu=")
    (record,) = reach.gateway(ctx, ctx.spec.accounts[0].name).job(
        int(seen.facts["jobs"].removeprefix("gpu="))
    )
    assert (record.name, record.state, record.partition) == ("freehold-smoke", "COMPLETED", "gpu")
    for step in (smoke, identity):
        drive_away(step, ctx)
