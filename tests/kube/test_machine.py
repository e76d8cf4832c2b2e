"""Any story of faults, deaths and hands on the API server ends with exactly what is wanted.

The real engine drives a real API server. Every outside call may fail, be done with its answer lost, or be
the last of its worker; a worker may also die before, inside and after each record that it writes.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Ref, ref_of
from clusters.kube.objects import Wanted
from clusters.models import Cluster, Machine, MachineState, Phase, Site, StepState
from clusters.provisioning import context, effects, engine, lease, record
from clusters.provisioning.registry import FACTORIES
from clusters.provisioning.steps import Step, StepContext
from clusters.services.clusters import terminate_cluster
from portal.lib import clock
from portal.lib.http import Answer
from tenants.models import Tenant
from tests.builders import actor_for, make_tenant
from tests.clusters import fakes
from tests.clusters.builders import add_machines, approve, approved_order, make_flavor, owner_of, resize
from tests.contract.kube.clients import Died
from tests.contract.kube.driven import spec_of
from tests.contract.kube.drivers.sample import SETS, SampleStep
from tests.kube import roles
from tests.kube.server import KubeServer
from tests.kube.vendor_kinds import node_sets
from tests.kube.vendors import Hands, Namespaces, Running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("kube"),
]
MARK = {"freehold.io/step": "sample"}
PATIENCE = 180.0
FAULTS = st.dictionaries(
    st.integers(1, 14), st.sampled_from(["fail", "lost", "die before", "die after"]), max_size=3
)


@dataclass
class Weather:
    """Which of the coming outside calls and records goes wrong, and how."""

    faults: Mapping[int, str] = field(default_factory=dict)
    seen: int = 0
    struck: Counter[str] = field(default_factory=Counter)

    def next(self) -> str:
        """The fault of this point; each is counted."""
        self.seen += 1
        fault = self.faults.get(self.seen, "")
        self.struck[fault] += 1
        return fault


class StormyClient(KubeClient):
    """Goes through the weather with each call."""

    def __init__(self, access: Access, weather: Weather) -> None:
        super().__init__(access)
        self._weather = weather

    def _read(self, path: str, *, again: bool = True) -> Answer:
        return self._through(lambda: super(StormyClient, self)._read(path, again=again))

    def _send(self, *args: Any, **kwargs: Any) -> Answer:
        return self._through(lambda: super(StormyClient, self)._send(*args, **kwargs))

    def _through(self, call: Any) -> Answer:
        fault = self._weather.next()
        if fault == "fail":
            raise errors.NotReachable
        if fault == "die before":
            raise Died
        answer: Answer = call()
        if fault == "lost":
            raise errors.NotReachable
        if fault == "die after":
            raise Died
        return answer


class OrderedStep(SampleStep):
    """The sample in an order's plan."""

    needs: tuple[str, ...] = ("machines",)

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """With a key of the cluster's own."""
        return super().wanted(replace(ctx, secrets={"sample": ctx.spec.id.encode()}))


@dataclass
class Place:
    """All that a story happens in."""

    server: KubeServer
    site: Site
    tenant: Tenant
    weather: Weather
    stories: int = 0


@pytest.fixture
def place(kube_server: KubeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A site whose stack is the sample; the worker's records go through the weather too."""
    weather = Weather()
    client = StormyClient(roles.access(kube_server, "tenant"), weather)
    world = fakes.install(tmp_path)
    machines = fakes.steps(world, ("machines",))
    FACTORIES[fakes.DRIVER] = lambda _: machines
    sample: Step = OrderedStep(lambda _: client)
    FACTORIES["sample"] = lambda _: (sample,)
    for module in (record, effects):
        monkeypatch.setitem(vars(module), "held", _deadly(weather))
    site = Site.objects.create(
        name="Story", slug="story", drivers={"machines": fakes.DRIVER, "slurm": "sample"}, task_queue="tests"
    )
    add_machines(site, make_flavor(), 4)
    with Running(kube_server.client, [node_sets(), Namespaces()]):
        yield Place(kube_server, site, make_tenant(), weather)
        weather.faults = {}
        hands = Hands(kube_server.client)
        for one in _left(kube_server):
            hands.release(one)
    del FACTORIES["sample"]
    fakes.uninstall()


def _deadly(weather: Weather) -> Any:
    @contextmanager
    def held(mine: lease.Lease) -> Iterator[Cluster]:
        fault = weather.next()
        if fault == "die before":
            raise Died
        with lease.held(mine) as row:
            yield row
            if fault == "die after":
                raise Died
        if fault == "lost":
            raise Died

    return held


def _left(server: KubeServer) -> list[Ref]:
    """Every object of any story, the last kinds first."""
    scopes = OrderedStep(lambda _: server.client).scopes(StepContext(spec=spec_of()))
    return [
        ref_of(found, scope.kind)
        for scope in reversed(scopes)
        for found in server.client.list(scope.kind, namespace=scope.namespace, labels=MARK)
    ]


class Story(RuleBasedStateMachine):
    """One order from its approval to nothing left over."""

    place: Place

    def __init__(self) -> None:
        super().__init__()
        self.place.stories += 1
        self.hands = Hands(self.place.server.client)
        order = approved_order(self.place.tenant, self.place.site, name=f"story-{self.place.stories}")
        assert order.cluster is not None
        self.key = order.cluster.pk
        self.ends = False

    @property
    def cluster(self) -> Cluster:
        """As its row is now."""
        return Cluster.objects.select_related("site", "tenant").get(pk=self.key)

    @rule(faults=FAULTS)
    def a_pass(self, faults: Mapping[int, str]) -> None:
        """One worker's pass; if it dies, its lease runs out."""
        weather = self.place.weather
        weather.faults, weather.seen = faults, 0
        try:
            engine.reconcile(self.key)
        except Died:
            past = clock.now() - dt.timedelta(seconds=1)
            Cluster.objects.filter(pk=self.key).update(lease_until=past)
        weather.faults = {}

    @rule(number=st.integers(0, 4))
    def somebody_changes_an_object(self, number: int) -> None:
        """By hand, a field that we set."""
        if (ref := self._one(number)) is not None:
            field = {"spec": {"replicas": 9}} if ref.kind == SETS else {"data": {"name": "YnkgaGFuZA=="}}
            self.hands.patch(ref, field)

    @rule(number=st.integers(0, 4))
    def somebody_deletes_an_object(self, number: int) -> None:
        """By hand."""
        if (ref := self._one(number)) is not None:
            self.hands.release(ref)

    @precondition(lambda self: not self.ends and self.cluster.phase == Phase.READY)
    @rule(nodes=st.integers(3, 4))
    def the_tenant_wants_more(self, nodes: int) -> None:
        """A resize that is approved at once."""
        cluster = self.cluster
        if cluster.observed_generation == cluster.generation and self._machines() < nodes:
            approve(resize(cluster, train=nodes))

    @precondition(lambda self: not self.ends)
    @rule()
    def the_tenant_ends_it(self) -> None:
        """At once."""
        self.ends = True
        actor = actor_for(owner_of(self.place.tenant), self.place.tenant)
        terminate_cluster(actor=actor, cluster=self.cluster, typed_name=self.cluster.name, at_once=True)

    def teardown(self) -> None:
        """In good weather it converges, and there is exactly what should be; then it ends."""
        if not self.ends:
            self._reach(Phase.READY)
            self._check()
            self.the_tenant_ends_it()
        self._reach(Phase.DELETED)
        assert _left(self.place.server) == []
        assert Machine.objects.exclude(state=MachineState.FREE).count() == 0

    def _reach(self, phase: Phase) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            self.a_pass({})
            row = self.cluster
            if row.phase == phase and (phase != Phase.READY or row.observed_generation == row.generation):
                return
            states = StepState.objects.filter(cluster=row).values_list("name", "status", "reason", "message")
            assert time.monotonic() < end, (row.phase, list(states))
            time.sleep(0.05)

    def _check(self) -> None:
        """Exactly one of each wanted object, and no other."""
        ctx = context.step_context(self.cluster)
        step = OrderedStep(lambda _: self.place.server.client)
        wanted = {one.ref for one in step.batch(ctx).wanted}
        assert set(_left(self.place.server)) == wanted
        seen = step.observe(ctx)
        assert (seen.in_sync, seen.ready, seen.differences) == (True, True, ())

    def _machines(self) -> int:
        return sum(len(pool.machines) for pool in context.cluster_spec(self.cluster).pools)

    def _one(self, number: int) -> Ref | None:
        found = [ref for ref in _left(self.place.server) if ref.kind.namespaced]
        return found[number % len(found)] if found else None


def test_every_story_converges(place: Place) -> None:
    Story.place = place
    rules = settings(
        max_examples=6,
        stateful_step_count=12,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(Story, settings=rules)
    assert place.stories >= 6
    assert sum(place.weather.struck.values()) > place.weather.struck[""] > 100


@pytest.mark.soak
def test_many_stories_converge(place: Place) -> None:
    Story.place = place
    rules = settings(
        max_examples=50, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Story, settings=rules)
    assert place.stories >= 50
