"""Machines by their hosts: nobody gets one twice, and nobody gets one that was not wiped."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import yaml

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest
from clusters.drivers.metal3 import shapes
from clusters.drivers.metal3.hosts import NEVER, read
from clusters.provisioning.steps import StepContext
from portal.lib.errors import OutsideError, PermanentError, TemporaryError
from tests.cases import case
from tests.clusters.drivers.lab import until
from tests.clusters.metal3.ironic import BMC
from tests.clusters.metal3.subject import IMAGE, Metal3Subject, spec_for
from tests.contract.driver_contract import drive_away, settle

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]


def resized(ctx: StepContext, *machines: str, leaving: tuple[str, ...] = ()) -> StepContext:
    """The same cluster with other machines."""
    (pool,) = ctx.spec.pools
    pools = (dataclasses.replace(pool, machines=machines, leaving=leaving),)
    return dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, pools=pools))


def refused(subject: Metal3Subject, ctx: StepContext) -> OutsideError:
    """What apply says no with."""
    with pytest.raises(OutsideError) as error:
        subject.step.apply(ctx)
    return error.value


def mended(subject: Metal3Subject, name: str) -> None:
    """Metal3 has nothing to complain of any more."""
    subject.metal3.errors.clear()
    until(lambda: subject.host(name)["status"]["operationalStatus"] == "OK")


def test_machines_get_the_image_and_say_whose_they_are(hosts: Metal3Subject) -> None:
    seen = settle(hosts.step, hosts.ctx)
    assert seen.facts["machines"] == "gpu-1,gpu-2"
    spec = hosts.host("gpu-1")["spec"]
    assert spec["consumerRef"]["name"] == hosts.ctx.spec.name
    assert (spec["online"], spec["image"]["url"]) == (True, IMAGE["url"])
    assert spec["userData"] == {"name": f"join-{hosts.ctx.spec.name}", "namespace": hosts.metal3.namespace}
    assert spec["bmc"] == BMC  # the operator's own
    assert "consumerRef" not in hosts.host("gpu-3")["spec"]


@case("U38")
def test_a_machine_of_another_cluster_is_not_taken(hosts: Metal3Subject) -> None:
    settle(hosts.step, hosts.ctx)
    other = StepContext(spec=spec_for("gpu-2", "gpu-3"))
    error = refused(hosts, other)
    assert isinstance(error, TemporaryError)
    assert error.reason == "MachineTaken"
    assert hosts.step.observe(other).exists is False
    assert "consumerRef" not in hosts.host("gpu-3")["spec"]  # nothing of it was begun
    drive_away(hosts.step, hosts.ctx)
    settle(hosts.step, other)


class _Overtaken(KubeClient):
    """Somebody else takes the host between our look and our asking for it."""

    subject: Metal3Subject

    def apply(self, manifest: Manifest, kind: Kind, **options: Any) -> Manifest:
        name = manifest["metadata"]["name"]
        self.subject.change(name, {"consumerRef": {"kind": "Machine", "name": "faster"}})
        return super().apply(manifest, kind, **options)


def test_of_two_that_take_a_machine_at_once_one_is_refused(hosts: Metal3Subject) -> None:
    overtaken = _Overtaken(hosts.access)
    overtaken.subject = hosts
    hosts.clients = lambda: overtaken
    assert refused(hosts, hosts.ctx).reason == "ObjectMoved"
    assert hosts.host("gpu-1")["spec"]["consumerRef"]["name"] == "faster"
    assert refused(hosts, hosts.ctx).reason == "NameTaken"


def test_a_host_that_metal3_does_not_have_is_never_made(hosts: Metal3Subject) -> None:
    error = refused(hosts, StepContext(spec=spec_for("gpu-1", "gpu-9")))
    assert error.reason == "MachineUnknown"
    assert "gpu-9" in error.message
    assert "consumerRef" not in hosts.host("gpu-1")["spec"]


# -- wipes


def test_a_machine_is_given_back_only_when_its_wipe_was_seen(hosts: Metal3Subject) -> None:
    settle(hosts.step, hosts.ctx)
    hosts.metal3.held = {"gpu-1"}
    hosts.step.remove(hosts.ctx)
    until(lambda: hosts.state("gpu-2") == "available")
    for _ in range(3):
        hosts.step.remove(hosts.ctx)
    # gpu-1 is switched off and without image, and still the cluster's
    assert hosts.host("gpu-1")["spec"]["consumerRef"]["name"] == hosts.ctx.spec.name
    assert "consumerRef" not in hosts.host("gpu-2")["spec"]
    seen = hosts.step.observe(hosts.ctx)
    assert seen.exists
    assert "gpu-2=" in seen.facts["wiped"]
    assert "gpu-1" not in seen.facts["wiped"]
    hosts.metal3.held = set()
    drive_away(hosts.step, hosts.ctx)
    gone = hosts.step.observe(hosts.ctx)
    wiped = dict(pair.split("=") for pair in gone.facts["wiped"].split(","))
    for name in ("gpu-1", "gpu-2"):
        history = hosts.host(name)["status"]["operationHistory"]
        assert wiped[name] == history["deprovision"]["end"] > history["provision"]["start"]


def test_the_wipe_before_is_told_of_each_machine(hosts: Metal3Subject) -> None:
    assert settle(hosts.step, hosts.ctx).facts["clean_since"] == f"gpu-1={NEVER},gpu-2={NEVER}"
    drive_away(hosts.step, hosts.ctx)
    first = hosts.host("gpu-1")["status"]["operationHistory"]["deprovision"]["end"]
    other = StepContext(spec=spec_for("gpu-1", "gpu-3"))
    assert settle(hosts.step, other).facts["clean_since"] == f"gpu-1={first},gpu-3={NEVER}"


def test_a_machine_that_was_never_started_needs_no_wipe(hosts: Metal3Subject) -> None:
    hosts.metal3.held = {"gpu-1", "gpu-2"}
    hosts.step.apply(hosts.ctx)
    drive_away(hosts.step, hosts.ctx)
    assert hosts.step.observe(hosts.ctx).facts["wiped"] == f"gpu-1={NEVER},gpu-2={NEVER}"


def test_cleaning_cannot_be_switched_off(hosts: Metal3Subject) -> None:
    hosts.change("gpu-1", {"automatedCleaningMode": "disabled"})
    settle(hosts.step, hosts.ctx)
    assert hosts.host("gpu-1")["spec"]["automatedCleaningMode"] == "metadata"
    hosts.change("gpu-1", {"automatedCleaningMode": "disabled"})
    seen = hosts.step.observe(hosts.ctx)
    assert [one.path for one in seen.differences] == ["spec.automatedCleaningMode"]
    hosts.step.apply(hosts.ctx)
    assert hosts.host("gpu-1")["spec"]["automatedCleaningMode"] == "metadata"


@pytest.mark.parametrize(
    ("state", "status", "history", "wiped"),
    [
        ("available", "OK", {}, NEVER),
        ("available", "OK", {"deprovision": {"end": "2026-01-01T00:02:00Z"}}, "2026-01-01T00:02:00Z"),
        ("available", "OK", {"provision": {"start": "2026-01-01T00:03:00Z"}}, ""),
        (
            "available",
            "OK",
            {
                "provision": {"start": "2026-01-01T00:03:00Z"},
                "deprovision": {"start": "2026-01-01T00:01:00Z", "end": "2026-01-01T00:02:00Z"},
            },
            "",
        ),
        (
            "available",
            "OK",
            {
                "provision": {"start": "2026-01-01T00:03:00Z"},
                "deprovision": {"start": "2026-01-01T00:04:00Z", "end": None},
            },
            "",
        ),
        (
            "available",
            "OK",
            {
                "provision": {"start": "2026-01-01T00:03:00Z"},
                "deprovision": {"start": "2026-01-01T00:04:00Z", "end": "2026-01-01T00:05:00Z"},
            },
            "2026-01-01T00:05:00Z",
        ),
        ("deprovisioning", "OK", {"deprovision": {"end": "2026-01-01T00:05:00Z"}}, ""),
        ("available", "error", {"deprovision": {"end": "2026-01-01T00:05:00Z"}}, ""),
        ("", "", {}, ""),
    ],
)
def test_a_wipe_is_a_whole_one_after_the_last_use(
    state: str, status: str, history: dict[str, object], wiped: str
) -> None:
    found = {
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
        "spec": {"online": False},
        "status": {
            "provisioning": {"state": state, "image": {"url": ""}},
            "operationalStatus": status,
            "operationHistory": history,
        },
    }
    assert read(found).wiped == wiped
    found["spec"] = {"online": False, "image": {"url": "https://a"}}
    assert read(found).wiped == ""


# -- growing, shrinking, drift


def test_a_machine_taken_away_is_wiped_before_the_change_is_done(hosts: Metal3Subject) -> None:
    settle(hosts.step, hosts.ctx)
    emptying = resized(hosts.ctx, "gpu-1", leaving=("gpu-2",))
    assert hosts.step.observe(emptying).ready  # held or not, both are fine
    hosts.metal3.held = {"gpu-2"}
    without = resized(hosts.ctx, "gpu-1")
    hosts.step.apply(without)
    hosts.step.apply(without)
    seen = hosts.step.observe(without)
    assert (seen.in_sync, seen.reason) == (False, "MachinesWiping")
    hosts.metal3.held = set()
    assert settle(hosts.step, without).facts["machines"] == "gpu-1"
    assert hosts.step.observe(without).facts["wiped"].startswith("gpu-2=2026-")
    assert hosts.step.observe(emptying).ready
    settle(hosts.step, resized(hosts.ctx, "gpu-1", "gpu-2", "gpu-4"))


def test_a_new_image_of_the_site_is_for_new_machines_only(hosts: Metal3Subject) -> None:
    settle(hosts.step, hosts.ctx)
    (newer,) = hosts.steps(image={"url": "https://images.example.com/newer.qcow2", "checksum": "b"})
    assert newer.observe(hosts.ctx).ready
    newer.apply(hosts.ctx)
    assert hosts.host("gpu-1")["spec"]["image"]["url"] == IMAGE["url"]
    settle(newer, resized(hosts.ctx, "gpu-1", "gpu-2", "gpu-3"))
    assert hosts.host("gpu-3")["spec"]["image"]["url"].endswith("newer.qcow2")
    assert hosts.host("gpu-1")["status"]["provisioning"]["image"]["url"] == IMAGE["url"]


def test_an_image_changed_by_hand_is_put_back(hosts: Metal3Subject) -> None:
    settle(hosts.step, hosts.ctx)
    hosts.metal3.held = {"gpu-1"}
    hosts.change("gpu-1", {"image": {"url": "https://example.com/theirs"}})
    seen = hosts.step.observe(hosts.ctx)
    assert (seen.reason, [one.path for one in seen.differences]) == ("Drift", ["spec.image.url"])
    hosts.step.apply(hosts.ctx)
    assert hosts.host("gpu-1")["spec"]["image"]["url"] == IMAGE["url"]


def test_a_host_that_lost_its_labels_is_still_the_clusters(hosts: Metal3Subject) -> None:
    settle(hosts.step, hosts.ctx)
    lost = dict.fromkeys(("freehold.io/cluster", "freehold.io/installation", shapes.POOL))
    hosts.change("gpu-1", {}, labels=lost)
    seen = hosts.step.observe(hosts.ctx)
    assert (seen.exists, seen.in_sync) == (True, False)
    settle(hosts.step, hosts.ctx)
    hosts.change("gpu-1", {}, labels=lost)
    drive_away(hosts.step, hosts.ctx)
    assert "consumerRef" not in hosts.host("gpu-1")["spec"]


# -- trouble


def test_trouble_is_told_in_words_and_without_the_bmc(hosts: Metal3Subject) -> None:
    said = f"Get {BMC['address']}: no route to 192.0.2.17:443 for {BMC['credentialsName']}"
    hosts.step.apply(hosts.ctx)
    hosts.metal3.errors["gpu-1"] = ("provisioning error", 1, said)
    until(lambda: hosts.step.observe(hosts.ctx).reason == "MachineTrouble")
    first = hosts.step.observe(hosts.ctx)
    assert first.in_sync
    assert "gpu-1: the image could not be put on it" in first.message
    hosts.metal3.errors["gpu-1"] = ("provisioning error", 5, said)
    until(lambda: hosts.step.observe(hosts.ctx).reason == "MachineFailed")
    error = refused(hosts, hosts.ctx)
    assert isinstance(error, PermanentError)
    assert "no route to" in error.hint
    told = f"{first!r} {hosts.step.observe(hosts.ctx)!r} {error!r} {error.hint}"
    for secret in ("192.0.2.17", "redfish", BMC["credentialsName"]):
        assert secret not in told
    assert hosts.state("gpu-2") in {"provisioning", "provisioned"}  # the others go on
    mended(hosts, "gpu-1")
    settle(hosts.step, hosts.ctx)


def test_bmc_that_refuses_needs_a_person_at_once(hosts: Metal3Subject) -> None:
    hosts.metal3.errors["gpu-1"] = ("registration error", 1, "bad password for admin")
    until(lambda: bool(hosts.host("gpu-1")["status"].get("errorType")))
    error = refused(hosts, hosts.ctx)
    assert (error.reason, isinstance(error, PermanentError)) == ("MachineFailed", True)


def test_a_wipe_that_fails_keeps_the_machine_and_says_so(hosts: Metal3Subject) -> None:
    settle(hosts.step, hosts.ctx)
    hosts.metal3.errors["gpu-1"] = ("provisioning error", 7, "cleaning failed")
    hosts.step.observe(hosts.ctx)
    until(lambda: bool(hosts.host("gpu-1")["status"].get("errorType")))
    with pytest.raises(PermanentError):
        hosts.step.remove(hosts.ctx)
    until(lambda: hosts.state("gpu-2") == "available")
    with pytest.raises(PermanentError):
        hosts.step.remove(hosts.ctx)
    assert hosts.host("gpu-1")["spec"]["consumerRef"]["name"] == hosts.ctx.spec.name
    assert "consumerRef" not in hosts.host("gpu-2")["spec"]
    mended(hosts, "gpu-1")
    drive_away(hosts.step, hosts.ctx)


def test_a_host_in_the_making_is_waited_for(hosts: Metal3Subject) -> None:
    hosts.metal3.held = {"gpu-7"}
    hosts.metal3.add_host(hosts.hands, "gpu-7")
    ctx = StepContext(spec=spec_for("gpu-7"))
    error = refused(hosts, ctx)
    assert (error.reason, isinstance(error, TemporaryError)) == ("MachineNotFree", True)
    hosts.metal3.held = set()
    until(lambda: hosts.state("gpu-7") == "available")
    settle(hosts.step, ctx)


def test_the_preview_names_hosts_and_fields_before_anything_is_taken(hosts: Metal3Subject) -> None:
    (step,) = hosts.steps()
    before = step.preview(hosts.ctx)  # type: ignore[attr-defined]
    assert [(one.action, one.thing.rpartition("/")[2]) for one in before] == [
        ("change", "gpu-1"),
        ("change", "gpu-2"),
    ]
    assert yaml.safe_load(before[0].text)["spec"]["image"]["url"] == IMAGE["url"]
    assert "192.0.2.17" not in repr(before)
    assert hosts.inventory() == {}
    settle(hosts.step, hosts.ctx)
    assert step.preview(hosts.ctx) == ()  # type: ignore[attr-defined]
    shrunk = step.preview(resized(hosts.ctx, "gpu-1"))  # type: ignore[attr-defined]
    assert [(one.action, one.thing.rpartition("/")[2]) for one in shrunk] == [("remove", "gpu-2")]
