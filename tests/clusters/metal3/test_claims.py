"""Machines by claims: a claim names exactly one host, and stays until that host was seen wiped."""

from __future__ import annotations

import dataclasses

import pytest

from clusters.clients.kube.models import Manifest, Ref
from clusters.drivers.metal3.hosts import CLAIM, NEVER
from clusters.drivers.metal3.shapes import WIPED
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError
from tests.clusters.drivers.lab import until
from tests.clusters.metal3.ironic import BMC, FINALIZER
from tests.clusters.metal3.subject import Metal3Subject, spec_for
from tests.contract.driver_contract import drive_away, settle

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]


def claim(subject: Metal3Subject, machine: str) -> Manifest | None:
    """A claim of the cluster as it is."""
    return subject.server.client.get(Ref(CLAIM, f"{subject.ctx.spec.name}-{machine}", subject.metal3.claims))


def removed(subject: Metal3Subject, machine: str) -> bool:
    """Ask once more; whether the claim is gone."""
    subject.step.remove(subject.ctx)
    return claim(subject, machine) is None


def without_second(ctx: StepContext, *, leaving: bool) -> StepContext:
    """The cluster without its second machine."""
    (pool,) = ctx.spec.pools
    left = dataclasses.replace(pool, machines=("gpu-1",), leaving=("gpu-2",) if leaving else ())
    return dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, pools=(left,)))


def test_each_claim_gets_the_machine_that_it_names(claims: Metal3Subject) -> None:
    seen = settle(claims.step, claims.ctx)
    assert seen.facts == {"machines": "gpu-1,gpu-2", "clean_since": f"gpu-1={NEVER},gpu-2={NEVER}"}
    for machine in ("gpu-1", "gpu-2"):
        consumer = claims.host(machine)["spec"]["consumerRef"]
        assert (consumer["kind"], consumer["name"]) == ("HostClaim", f"{claims.ctx.spec.name}-{machine}")
    assert BMC["credentialsName"] not in repr(claim(claims, "gpu-1"))


def test_a_claim_without_a_host_says_what_it_waits_for(claims: Metal3Subject) -> None:
    settle(claims.step, claims.ctx)
    other = StepContext(spec=spec_for("gpu-2"))
    claims.step.apply(other)
    until(lambda: claims.step.observe(other).reason == "NoBareMetalHost")
    assert "gpu-2 waits: no free host bears its label" in claims.step.observe(other).message
    drive_away(claims.step, other)
    assert claims.step.observe(claims.ctx).ready


def test_a_claim_stays_until_its_host_was_seen_wiped(claims: Metal3Subject) -> None:
    settle(claims.step, claims.ctx)
    claims.metal3.held = {"gpu-1"}
    claims.step.remove(claims.ctx)
    until(lambda: removed(claims, "gpu-2"))
    seen = claims.step.observe(claims.ctx)
    assert (seen.exists, seen.reason) == (True, "MachinesWiping")
    assert "gpu-1 is provisioned" in seen.message
    found = claim(claims, "gpu-1")
    assert found is not None
    assert set(found["metadata"]["finalizers"]) == {FINALIZER, WIPED}
    claims.metal3.held = set()
    drive_away(claims.step, claims.ctx)
    wiped = dict(pair.split("=") for pair in claims.step.observe(claims.ctx).facts["wiped"].split(","))
    history = claims.host("gpu-1")["status"]["operationHistory"]
    assert wiped["gpu-1"] == history["deprovision"]["end"] > history["provision"]["start"]


def test_a_machine_taken_away_is_wiped_before_the_change_is_done(claims: Metal3Subject) -> None:
    settle(claims.step, claims.ctx)
    assert claims.step.observe(without_second(claims.ctx, leaving=True)).ready
    claims.metal3.held = {"gpu-2"}
    smaller = without_second(claims.ctx, leaving=False)
    claims.step.apply(smaller)
    claims.step.apply(smaller)
    seen = claims.step.observe(smaller)
    assert (seen.in_sync, seen.reason) == (False, "MachinesWiping")
    claims.metal3.held = set()
    assert settle(claims.step, smaller).facts["machines"] == "gpu-1"
    assert "consumerRef" not in claims.host("gpu-2")["spec"]


def test_metal3_that_does_not_let_go_is_named(claims: Metal3Subject) -> None:
    settle(claims.step, claims.ctx)
    found = claim(claims, "gpu-1")
    assert found is not None
    ref = Ref(CLAIM, found["metadata"]["name"], claims.metal3.claims)
    held = [*found["metadata"]["finalizers"], "example.com/stuck"]
    assert claims.hands.patch(ref, {"metadata": {"finalizers": held}})
    claims.step.remove(claims.ctx)
    until(lambda: removed(claims, "gpu-2"))
    until(lambda: claims.state("gpu-1") == "available")
    seen = claims.step.observe(claims.ctx)
    assert (seen.exists, seen.reason) == (True, "Finalizer")
    assert "example.com/stuck" in seen.message
    assert claims.hands.patch(ref, {"metadata": {"finalizers": [WIPED]}})
    drive_away(claims.step, claims.ctx)


def test_a_host_that_fails_needs_a_person(claims: Metal3Subject) -> None:
    settle(claims.step, claims.ctx)
    claims.metal3.errors["gpu-1"] = ("power management error", 9, f"cannot reach {BMC['address']}")
    until(lambda: claims.step.observe(claims.ctx).reason == "MachineFailed")
    with pytest.raises(PermanentError) as refused:
        claims.step.apply(claims.ctx)
    assert "gpu-1: it could not be switched on or off" in refused.value.message
    assert "192.0.2.17" not in f"{refused.value.message} {refused.value.hint}"


def test_a_new_image_of_the_site_is_for_new_machines_only(claims: Metal3Subject) -> None:
    settle(claims.step, claims.ctx)
    (newer,) = claims.steps(image={"url": "https://images.example.com/newer.qcow2", "checksum": "b"})
    assert newer.observe(claims.ctx).ready
    assert newer.preview(claims.ctx) == ()  # type: ignore[attr-defined]
    (third,) = newer.preview(claims.changed())  # type: ignore[attr-defined]
    assert (third.action, "newer.qcow2" in third.text) == ("create", True)
