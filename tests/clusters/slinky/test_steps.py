"""Slinky's steps on a real API server over time: what is not ready, what grows, shrinks and is upgraded."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import time_machine

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Manifest, Ref, ref_of
from clusters.clients.slurmrest.errors import NotReachable
from clusters.drivers.slinky import names
from clusters.drivers.slinky.identity import IdentityStep
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.drivers.slinky.slurm import DIRECT_KINDS, SlurmStep
from clusters.kube import kinds, marks, objects, servers
from clusters.kube.gitops.installer import Installer
from clusters.kube.gitops.register import KEPT_AS, RegisterStep, Token
from clusters.kube.gitops.settings import GitOps
from clusters.kube.renderers import argo
from clusters.provisioning.steps import ClusterSpec, StepContext
from portal.lib.errors import PermanentError, TemporaryError
from tests.contract.driver_contract import drive_away, settle
from tests.contract.kube.driven import one_machine_more, spec_of
from tests.contract.kube.drivers.slinky import RUNTIME, before
from tests.kube import charts, roles, slinky_vendors, vendor_kinds
from tests.kube.fake_slurm import API, FakeSlurm
from tests.kube.server import KubeServer
from tests.kube.vendors import Controller, Hands, Running

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
DIRECT = SlinkySettings(install="direct", login=dataclasses.replace(SlinkySettings().login, replicas=0))


@pytest.fixture
def ctx(kube_server: KubeServer) -> Iterator[StepContext]:
    """A cluster of which nothing of Slurm exists yet."""
    found = before(kube_server, StepContext(spec=spec_of()))
    yield found
    hands, mark = Hands(kube_server.client), {marks.CLUSTER: found.spec.id}
    for pod in kube_server.client.list(kinds.POD, namespace=names.NAMESPACE):
        now = {"gracePeriodSeconds": 0}  # there is no kubelet to confirm it
        hands._send("DELETE", ref_of(pod, kinds.POD).path, now, "application/json")
    for kind in (*DIRECT_KINDS, argo.APPLICATION):  # a test that failed has left them
        for one in kube_server.client.list(kind, labels=mark):
            hands.release(ref_of(one, kind))


@contextmanager
def slurm(
    server: KubeServer, ctx: StepContext, vendors: list[Controller], step: SlurmStep
) -> Iterator[SlurmStep]:
    """The step with vendors at work, and nothing left afterwards."""
    with Running(server.client, vendors):
        yield step
        drive_away(step, ctx)


def direct(fake: FakeSlurm) -> SlurmStep:
    """By Slinky's own objects."""
    return SlurmStep(DIRECT, servers.of_tenant, servers.of_tenant, fake)


def by_argo(server: KubeServer, fake: FakeSlurm, settings: SlinkySettings | None = None) -> SlurmStep:
    """By the chart."""
    access = roles.access(server, "argocd")
    gitops = GitOps.from_site({"delivery": {"controller": "argo"}})
    return SlurmStep(
        settings or SlinkySettings(), lambda _: KubeClient(access), servers.of_tenant, fake, Installer(gitops)
    )


def until_reason(step: SlurmStep, ctx: StepContext, reason: str, words: str = "") -> str:
    """The step's message once it says this."""
    end = time.monotonic() + 60
    while (seen := step.observe(ctx)).reason != reason or words not in seen.message:
        assert time.monotonic() < end, seen
        if not (seen.exists and seen.in_sync):
            step.apply(ctx)
        time.sleep(0.05)
    assert not seen.ready
    assert not seen.facts.get("url")
    return seen.message


def test_slurm_is_ready_only_when_slurmrestd_answers_for_every_node(
    kube_server: KubeServer, ctx: StepContext
) -> None:
    fake = FakeSlurm(trouble=NotReachable())
    with slurm(kube_server, ctx, list(vendor_kinds.slurm_operator()), direct(fake)) as step:
        until_reason(step, ctx, "SlurmNotAnswering")
        fake.trouble, fake.missing = None, 1
        assert until_reason(step, ctx, "NodesNotReady") == "Slurm has 1 of 2 usable nodes in gpu."
        fake.missing = 0
        seen = settle(step, ctx)
        assert seen.facts["api_version"] == API
        assert seen.facts["url"].endswith("/proxy")


def test_nothing_is_ready_before_the_operator_has_made_it(kube_server: KubeServer, ctx: StepContext) -> None:
    vendors: list[Controller] = [
        vendor_kinds.node_sets(),
        *(vendor_kinds.workload(kind) for kind in (kinds.STATEFUL_SET, kinds.DEPLOYMENT)),
    ]
    for kind, name in ((kinds.STATEFUL_SET, "slurm-controller"), (kinds.DEPLOYMENT, names.SERVICE)):
        Hands(kube_server.client).release(Ref(kind, name, names.NAMESPACE))
    with slurm(kube_server, ctx, vendors, direct(FakeSlurm())) as step:
        assert "slurm-controller" in until_reason(step, ctx, "WorkloadMissing")


def test_workers_that_are_down_in_slurm_are_told(kube_server: KubeServer, ctx: StepContext) -> None:
    operator: list[Controller] = [
        one for one in vendor_kinds.slurm_operator() if getattr(one, "kind", None) != names.NODE_SET
    ]
    vendors = [*operator, vendor_kinds.node_sets(down=1)]
    with slurm(kube_server, ctx, vendors, direct(FakeSlurm())) as step:
        until_reason(step, ctx, "NodesNotReady", "1 of 2 workers")


def test_workers_that_need_a_runtime_wait_for_it(kube_server: KubeServer, ctx: StepContext) -> None:
    runtime = Ref(kinds.RUNTIME_CLASS, "vnode")
    Hands(kube_server.client).release(runtime)
    vnode = dataclasses.replace(DIRECT, vnode=True)
    step = SlurmStep(vnode, servers.of_tenant, servers.of_tenant, FakeSlurm())
    with slurm(kube_server, ctx, list(vendor_kinds.slurm_operator()), step):
        assert not step.observe(ctx).exists
        with pytest.raises(PermanentError) as refused:
            step.apply(ctx)
        assert refused.value.reason == "RuntimeClassMissing"
        assert "slinky.vnode" in refused.value.hint
        assert not step.observe(ctx).exists  # nothing was made
        kube_server.client.apply(RUNTIME, kinds.RUNTIME_CLASS)
        settle(step, ctx)
        # lost later: what works is not asked about it
        Hands(kube_server.client).release(runtime)
        assert step.observe(ctx).ready
        kube_server.client.apply(RUNTIME, kinds.RUNTIME_CLASS)


def test_argo_healthy_is_not_ready(kube_server: KubeServer, ctx: StepContext) -> None:
    lazy: list[Controller] = [
        charts.GitOps({"slurm": slinky_vendors.slurm_chart}, holds=("slurm",))
        if isinstance(one, charts.GitOps)
        else one
        for one in slinky_vendors.gitops()
    ]
    with slurm(kube_server, ctx, lazy, by_argo(kube_server, FakeSlurm())) as step:
        until_reason(step, ctx, "WorkloadMissing")
        app = kube_server.client.get(Ref(argo.APPLICATION, f"{ctx.spec.name}-slurm", "argocd"))
        assert app is not None
        assert app["status"]["health"]["status"] == "Healthy"


def test_a_new_version_of_the_chart_is_drift_that_is_followed(
    kube_server: KubeServer, ctx: StepContext
) -> None:
    newer = dataclasses.replace(SlinkySettings().charts, version="1.3.0")
    after = by_argo(kube_server, FakeSlurm(), dataclasses.replace(SlinkySettings(), charts=newer))
    with slurm(kube_server, ctx, slinky_vendors.gitops(), by_argo(kube_server, FakeSlurm())) as step:
        settle(step, ctx)
        seen = after.observe(ctx)
        assert [(one.path, one.found, one.wanted) for one in seen.differences] == [
            ("spec.source.targetRevision", "1.2.1", "1.3.0")
        ]
        settle(after, ctx)
        app = kube_server.client.get(Ref(argo.APPLICATION, f"{ctx.spec.name}-slurm", "argocd"))
        assert app is not None
        assert app["status"]["sync"]["comparedTo"]["source"]["targetRevision"] == "1.3.0"


@pytest.mark.parametrize("how", ["direct", "argo"])
def test_a_pool_grows_by_its_nodeset(kube_server: KubeServer, ctx: StepContext, how: str) -> None:
    vendors: list[Controller] = (
        list(vendor_kinds.slurm_operator()) if how == "direct" else slinky_vendors.gitops()
    )
    made = direct(FakeSlurm()) if how == "direct" else by_argo(kube_server, FakeSlurm())
    with slurm(kube_server, ctx, vendors, made) as step:
        settle(step, ctx)
        more = dataclasses.replace(ctx, spec=one_machine_more(ctx.spec))
        settle(step, more)
        assert replicas(kube_server) == 3


def test_a_pool_shrinks_only_after_its_jobs_have_ended(kube_server: KubeServer, ctx: StepContext) -> None:
    stays, goes = ctx.spec.pools[0].machines
    smaller = dataclasses.replace(ctx, spec=leaving(ctx.spec, goes))
    with slurm(kube_server, ctx, list(vendor_kinds.slurm_operator()), direct(FakeSlurm())) as step:
        settle(step, ctx)
        pods = {
            machine: add_worker(kube_server, index, machine) for index, machine in enumerate((stays, goes))
        }
        set_state(kube_server, pods[goes], "Allocated")
        for _ in range(2):
            seen = step.observe(smaller)
            assert (seen.in_sync, seen.reason, seen.waits_for) == (False, "NodesBusy", "running jobs")
            assert goes in seen.message
            step.apply(smaller)
        assert marks_of(kube_server, pods[goes]) == {names.CORDON: "true", names.COST: "-1000"}
        assert marks_of(kube_server, pods[stays]) == {}
        assert replicas(kube_server) == 2
        set_state(kube_server, pods[goes], "Drain")
        settle(step, smaller)
        assert replicas(kube_server) == 1


def test_a_drained_worker_is_taken_away(kube_server: KubeServer, ctx: StepContext) -> None:
    goes = ctx.spec.pools[0].machines[1]
    smaller = dataclasses.replace(ctx, spec=leaving(ctx.spec, goes))
    with slurm(kube_server, ctx, list(vendor_kinds.slurm_operator()), direct(FakeSlurm())) as step:
        settle(step, ctx)
        pod = add_worker(kube_server, 1, goes)
        set_state(kube_server, pod, "Drain")
        settle(step, smaller)
        assert replicas(kube_server) == 1


def test_a_shrinking_that_is_called_off_gives_the_worker_back(
    kube_server: KubeServer, ctx: StepContext
) -> None:
    goes = ctx.spec.pools[0].machines[1]
    smaller = dataclasses.replace(ctx, spec=leaving(ctx.spec, goes))
    with slurm(kube_server, ctx, list(vendor_kinds.slurm_operator()), direct(FakeSlurm())) as step:
        settle(step, ctx)
        pod = add_worker(kube_server, 1, goes)
        set_state(kube_server, pod, "Mixed")
        step.apply(smaller)
        assert marks_of(kube_server, pod)[names.CORDON] == "true"
        step.apply(ctx)
        assert marks_of(kube_server, pod) == {names.CORDON: "false", names.COST: "0"}
        settle(step, ctx)


def test_what_the_operator_makes_with_our_labels_is_left_to_it(
    kube_server: KubeServer, ctx: StepContext
) -> None:
    with slurm(kube_server, ctx, list(vendor_kinds.slurm_operator()), direct(FakeSlurm())) as step:
        settle(step, ctx)
        parent = _get(kube_server, Ref(names.CONTROLLER, names.RELEASE, names.NAMESPACE))["metadata"]
        owner = {
            "apiVersion": names.API,
            "kind": "Controller",
            "name": parent["name"],
            "uid": parent["uid"],
            "controller": True,
        }
        made = objects.config_map("slurm-config", {"slurm.conf": ""}, namespace=names.NAMESPACE).manifest
        meta = {**made["metadata"], "labels": marks.labels(ctx.spec, "slurm"), "ownerReferences": [owner]}
        ref = Ref(kinds.CONFIG_MAP, "slurm-config", names.NAMESPACE)
        hands = Hands(kube_server.client)
        assert hands.create(kinds.CONFIG_MAP, {**made, "metadata": meta})
        assert settle(step, ctx).in_sync
        step.apply(ctx)
        assert kube_server.client.get(ref) is not None
        hands.release(ref)


def test_a_persons_own_cordon_stays(kube_server: KubeServer, ctx: StepContext) -> None:
    with slurm(kube_server, ctx, list(vendor_kinds.slurm_operator()), direct(FakeSlurm())) as step:
        pod = add_worker(kube_server, 0, ctx.spec.pools[0].machines[0])
        mark = {"metadata": {"annotations": {names.CORDON: "true"}}}
        assert Hands(kube_server.client).patch(Ref(kinds.POD, pod, names.NAMESPACE), mark)
        step.apply(ctx)
        assert marks_of(kube_server, pod) == {names.CORDON: "true"}


def test_keys_of_members_are_published_for_login_pods(kube_server: KubeServer, ctx: StepContext) -> None:
    keys = ("ssh-ed25519 AAAA", "ssh-rsa BBBB")
    observer, member = ctx.spec.accounts
    left = dataclasses.replace(member, name="fhleft1", uid=70009, active=False, keys=keys)
    accounts = (observer, dataclasses.replace(member, keys=keys), left)
    with_keys = dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, accounts=accounts))

    def files(settings: SlinkySettings) -> set[str]:
        (one,) = IdentityStep(settings, servers.of_tenant, FakeSlurm()).wanted(with_keys)
        return set(one.manifest["data"])

    assert files(SlinkySettings()) == {"passwd", "group", f"{member.name}.keys"}
    assert files(DIRECT) == {"passwd", "group"}  # no login pods
    assert files(SlinkySettings(identity="sssd")) == {"passwd", "group"}  # the site's directory knows them
    (one,) = IdentityStep(SlinkySettings(), servers.of_tenant, FakeSlurm()).wanted(with_keys)
    assert one.manifest["data"][f"{member.name}.keys"] == "ssh-ed25519 AAAA\nssh-rsa BBBB\n"
    kube_server.client.apply(one.manifest, kinds.CONFIG_MAP, dry_run=True)


def test_an_account_that_slurm_does_not_know_yet_is_waited_for(
    kube_server: KubeServer, ctx: StepContext
) -> None:
    fake = FakeSlurm(known={"fhobserver1"})
    step = IdentityStep(SlinkySettings(), servers.of_tenant, fake)
    with pytest.raises(TemporaryError) as waits:
        step.apply(ctx)
    assert waits.value.reason == "IdentityNotShown"
    seen = step.observe(ctx)
    assert (seen.exists, seen.in_sync, seen.message) == (True, False, "Not yet shown to work: fhmember1.")
    fake.known = None
    assert settle(step, ctx).facts["accounts"] == "fhmember1,fhobserver1"
    assert {job.state for job in fake.jobs.values()} == {"CANCELLED"}
    proofs = fake.submits
    settle(step, ctx)
    assert fake.submits == proofs
    drive_away(step, ctx)


def test_the_controllers_token_works_and_is_renewed_at_half_of_its_life(
    kube_server: KubeServer, ctx: StepContext
) -> None:
    access = roles.access(kube_server, "argocd")
    kube_server.ensure_namespace("freehold")
    ctx.secrets.pop(KEPT_AS)  # type: ignore[attr-defined]  # a dict
    gitops = GitOps.from_site({"delivery": {"controller": "argo", "token_minutes": 60}})
    step = RegisterStep(gitops, ["oci://charts.example/*"], lambda _: KubeClient(access), servers.of_tenant)
    settle(step, ctx)
    first = Token.unpack(ctx.secrets[KEPT_AS])
    assert first.expires_at - first.issued_at <= dt.timedelta(minutes=61)
    told = cluster_secret(kube_server, ctx)
    assert told["config"]["bearerToken"] == first.value
    assert told["config"]["tlsClientConfig"]["insecure"] is False
    assert told["project"] == ctx.spec.name
    as_argo = KubeClient(
        Access(told["server"], b64decode(told["config"]["tlsClientConfig"]["caData"]), token=first.value)
    )
    assert as_argo.list(kinds.CRD)
    with time_machine.travel(first.issued_at + dt.timedelta(minutes=29), tick=True):
        assert step.observe(ctx).in_sync
    with time_machine.travel(first.issued_at + dt.timedelta(minutes=31), tick=True):
        seen = step.observe(ctx)
        assert (seen.in_sync, seen.routine, seen.reason) == (False, True, "TokenAges")
        step.apply(ctx)
        assert step.observe(ctx).in_sync
    assert cluster_secret(kube_server, ctx)["config"]["bearerToken"] != first.value
    drive_away(step, ctx)


def test_a_plan_lists_what_comes_before_there_is_an_api_server(kube_server: KubeServer) -> None:
    ctx = StepContext(spec=dataclasses.replace(spec_of(), accounts=()), secrets={})
    step = direct(FakeSlurm())
    assert [change.action for change in step.preview(ctx)] == ["create"] * 5
    assert all("kind:" in change.text for change in step.preview(ctx))


# -- what is there


def leaving(spec: ClusterSpec, machine: str) -> ClusterSpec:
    """The spec without a machine that may still have work."""
    pool = spec.pools[0]
    rest = tuple(one for one in pool.machines if one != machine)
    return dataclasses.replace(spec, pools=(dataclasses.replace(pool, machines=rest, leaving=(machine,)),))


def replicas(server: KubeServer) -> int:
    """Of the NodeSet."""
    return int(_get(server, Ref(names.NODE_SET, names.node_set("gpu"), names.NAMESPACE))["spec"]["replicas"])


def add_worker(server: KubeServer, index: int, machine: str) -> str:
    """A worker's pod on a machine, as the operator and the scheduler make it."""
    name = f"{names.node_set('gpu')}-{index}"
    spec = {"nodeName": machine, "containers": [{"name": "slurmd", "image": "registry.invalid/slurmd:1"}]}
    body = objects.manifest(kinds.POD, name, {"spec": spec}, namespace=names.NAMESPACE)
    assert Hands(server.client).create(kinds.POD, body)
    return name


def set_state(server: KubeServer, pod: str, state: str) -> None:
    """What Slurm says of a worker's node."""
    condition = {"type": f"SlurmNodeState{state}", "status": "True"}
    status: dict[str, Any] = {"phase": "Running", "conditions": [condition]}
    Hands(server.client).write_status(Ref(kinds.POD, pod, names.NAMESPACE), status, "status")


def marks_of(server: KubeServer, pod: str) -> dict[str, str]:
    """Of a pod."""
    return dict(_get(server, Ref(kinds.POD, pod, names.NAMESPACE))["metadata"].get("annotations") or {})


def cluster_secret(server: KubeServer, ctx: StepContext) -> dict[str, Any]:
    """As Argo CD reads it."""
    data = _get(server, Ref(kinds.SECRET, f"cluster-{ctx.spec.name}", "argocd"))["data"]
    told: dict[str, Any] = {name: b64decode(value).decode() for name, value in data.items()}
    return {**told, "config": json.loads(told["config"])}


def _get(server: KubeServer, ref: Ref) -> Manifest:
    found = server.client.get(ref)
    assert found is not None, ref
    return found
