"""The base of Kubernetes steps where the contract does not look: order, what is kept, what has no wish."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator

import pytest

from clusters.clients.kube.models import Kind, Ref
from clusters.kube import kinds, objects
from clusters.kube.objects import Wanted
from clusters.kube.sinks import Scope
from clusters.kube.step import ObjectsStep
from clusters.provisioning.steps import ClusterSpec, StepContext
from portal.lib.errors import TemporaryError
from tests.contract.kube.driven import spec_of
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
QUEUE = Kind("scheduling.volcano.sh/v1beta1", "Queue", "queues", namespaced=False)
SETS = Kind("slinky.slurm.net/v1beta1", "NodeSet", "nodesets")
FINALIZER = "example.com/held"


class NotesStep(ObjectsStep):
    """Makes what the test says."""

    name = "notes"
    component = "Notes"
    system = "the test server"
    given: tuple[Wanted, ...] = ()
    broken: bool = False

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        return (f"notes of {spec.name}",)

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        return (
            Scope(kinds.SECRET, "default"),
            Scope(kinds.CONFIG_MAP, "default"),
            Scope(QUEUE),
            Scope(SETS, "default"),
        )

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        del ctx
        if self.broken:
            raise TemporaryError("NothingKnown", "An earlier step has not said where.")
        return self.given


@pytest.fixture
def step(kube_server: KubeServer) -> Iterator[NotesStep]:
    """On the server; what is left over is removed."""
    one = NotesStep(lambda _: kube_server.client)
    yield one
    hands = Hands(kube_server.client)
    for kind in (kinds.SECRET, kinds.CONFIG_MAP, QUEUE, SETS):
        for found in kube_server.client.list(kind, labels={"freehold.io/step": "notes"}):
            meta = found["metadata"]
            hands.release(Ref(kind, meta["name"], meta.get("namespace", "")))


@pytest.fixture
def ctx() -> StepContext:
    """A cluster of its own."""
    return StepContext(spec=spec_of(uuid.uuid4()))


def note(name: str, *, kept: bool = False) -> Wanted:
    """A ConfigMap."""
    one = objects.config_map(name, {"a": "1"}, namespace="default")
    return dataclasses.replace(one, kept=kept)


def queue(name: str) -> Wanted:
    """A Queue with a finalizer."""
    body = objects.manifest(QUEUE, name, {"spec": {"weight": 1}})
    held = {**body, "metadata": {**body["metadata"], "finalizers": [FINALIZER]}}
    return Wanted(QUEUE, held)


def test_what_has_a_finalizer_is_gone_before_others_go(
    kube_server: KubeServer, step: NotesStep, ctx: StepContext
) -> None:
    step.given = (note("first"), queue("q-one"), queue("q-two"), note("last"))
    step.apply(ctx)
    assert step.observe(ctx).ready
    step.remove(ctx)
    client = kube_server.client
    assert client.get(step.given[3].ref) is None
    assert client.get(step.given[0].ref) is not None
    going = [client.get(one.ref) for one in step.given[1:3]]
    assert all(found is not None and found["metadata"]["deletionTimestamp"] for found in going)
    seen = step.observe(ctx)
    assert (seen.exists, seen.in_sync, seen.reason) == (True, False, "Finalizer")
    assert FINALIZER in seen.message
    for one in step.given[1:3]:
        Hands(client).release(one.ref)
    step.remove(ctx)
    assert step.observe(ctx).exists is False


def test_an_object_that_is_going_is_waited_for_and_then_made_again(
    kube_server: KubeServer, step: NotesStep, ctx: StepContext
) -> None:
    step.given = (queue("q-again"),)
    step.apply(ctx)
    found = kube_server.client.get(step.given[0].ref)
    assert found is not None
    kube_server.client.delete(step.given[0].ref, uid=found["metadata"]["uid"])
    step.apply(ctx)
    assert step.observe(ctx).reason == "Finalizer"
    Hands(kube_server.client).release(step.given[0].ref)
    assert step.observe(ctx).exists is False
    step.apply(ctx)
    again = kube_server.client.get(step.given[0].ref)
    assert again is not None
    assert again["metadata"]["uid"] != found["metadata"]["uid"]
    assert step.observe(ctx).ready


def test_what_is_kept_stays_and_is_no_reason_to_wait(
    kube_server: KubeServer, step: NotesStep, ctx: StepContext
) -> None:
    step.given = (note("kept", kept=True), note("goes"))
    step.apply(ctx)
    step.remove(ctx)
    assert step.observe(ctx).exists is False
    assert kube_server.client.get(step.given[0].ref) is not None
    step.apply(ctx)
    assert step.observe(ctx).ready


def test_what_cannot_be_compared_can_still_be_removed(step: NotesStep, ctx: StepContext) -> None:
    step.given = (note("one"), queue("q-blind"))
    step.broken = True
    seen = step.observe(ctx)
    assert (seen.exists, seen.reason) == (False, "NothingKnown")
    with pytest.raises(TemporaryError):
        step.apply(ctx)
    step.broken = False
    step.apply(ctx)
    step.broken = True
    seen = step.observe(ctx)
    assert (seen.exists, seen.in_sync, seen.reason) == (True, False, "NothingKnown")
    step.remove(ctx)
    step.remove(ctx)
    Hands(step.client(ctx)).release(Ref(QUEUE, "q-blind"))
    step.remove(ctx)
    assert step.observe(ctx).exists is False


def test_two_clusters_do_not_see_each_other(step: NotesStep, ctx: StepContext) -> None:
    other = StepContext(spec=spec_of(uuid.uuid4()))
    step.given = (note("mine"),)
    step.apply(ctx)
    assert step.observe(other).reason == "NameTaken"
    assert step.observe(other).exists is False
    step.remove(other)
    assert step.observe(ctx).ready
    step.given = (note("theirs"),)
    step.apply(other)
    step.remove(other)
    step.given = (note("mine"),)
    assert step.observe(ctx).ready


def test_the_preview_shows_a_refusal_before_anything_is_made(
    kube_server: KubeServer, step: NotesStep, ctx: StepContext
) -> None:
    wrong = objects.manifest(
        SETS, "wrong", {"spec": {"controllerRef": {"name": "a"}, "replicass": 1}}, namespace="default"
    )
    step.given = (
        note("fine"),
        Wanted(SETS, wrong),
        objects.secret("key", {"a": b"s3cr3t"}, namespace="default"),
    )
    fine, refused, secret = step.preview(ctx)
    assert fine.text.startswith("apiVersion: v1\nkind: ConfigMap\n")
    assert refused.text.startswith("# The API server refuses the object: ")
    assert "replicass" in refused.text.splitlines()[0]
    assert "a: (secret)" in secret.text
    assert {change.system for change in (fine, refused, secret)} == {"the test server"}
    assert step.observe(ctx).exists is False


def test_the_preview_shows_old_and_new_value_and_what_goes(step: NotesStep, ctx: StepContext) -> None:
    step.given = (note("one"), note("two"))
    step.apply(ctx)
    step.given = (objects.config_map("one", {"a": "2"}, namespace="default"), note("three"))
    change, create, remove = step.preview(ctx)
    assert [one.action for one in (change, create, remove)] == ["change", "create", "remove"]
    (difference,) = change.differences
    assert (difference.path, difference.wanted, difference.found) == ("data.a", "2", "1")
    assert remove.thing == "ConfigMap default/two"


def test_an_object_outside_the_scopes_is_a_mistake(step: NotesStep, ctx: StepContext) -> None:
    step.given = (objects.config_map("a", {}, namespace="elsewhere"),)
    with pytest.raises(ValueError, match="outside the scopes"):
        step.apply(ctx)
