"""Random lives of clusters: whatever people, workers and the outside do, the books stay right."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Count
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from clusters.models import Allocation, Cluster, Machine, MachineState, Order, OrderState, Phase
from clusters.provisioning import engine
from clusters.provisioning.lease import claim
from clusters.services import clusters as verbs
from clusters.services.orders import cancel_order
from portal.lib import clock
from portal.lib.errors import BadInput, WrongState
from tests.builders import actor_for, make_tenant
from tests.cases import case
from tests.clusters import fakes
from tests.clusters.builders import approved_order, make_site, operator, owner_of

STEPS = [name for name, _ in fakes.NAMES]
KNOBS = ("", "temporary", "permanent", "bug", "lost", "slow")
VERBS = ("retry", "pause", "resume", "give_up", "cancel", "end", "later")
EXAMPLES = 12


class Lives(RuleBasedStateMachine):
    """Orders come, are cancelled, stall, are retried, given up and ended; workers die."""

    def __init__(self) -> None:
        super().__init__()
        self.block = transaction.atomic()
        self.block.__enter__()
        self.folder = Path(tempfile.mkdtemp(prefix="freehold-lives-"))
        self.world = fakes.install(self.folder)
        self.tenant = make_tenant()
        self.site = make_site(machines=3)
        self.owner = actor_for(owner_of(self.tenant), self.tenant)
        self.operator = operator()
        self.count = 0

    def teardown(self) -> None:
        """As if it had never been."""
        transaction.set_rollback(True)
        self.block.__exit__(None, None, None)
        shutil.rmtree(self.folder)

    def some(self, data: st.DataObject) -> Cluster:
        """One of the clusters."""
        return data.draw(st.sampled_from(list(Cluster.objects.order_by("created_at"))))

    def attempt(self, act: Any) -> None:
        """What is refused changed nothing: the transaction of the command undid it."""
        try:
            act()
        except (WrongState, BadInput):
            return

    @rule()
    def order(self) -> None:
        self.count += 1
        self.attempt(lambda: approved_order(self.tenant, self.site, name=f"gpu-{self.count}x", nodes=1))

    @precondition(lambda self: Cluster.objects.exists())
    @rule(data=st.data())
    def reconcile(self, data: st.DataObject) -> None:
        engine.reconcile(self.some(data).pk)

    @rule(
        step=st.sampled_from(STEPS),
        knob=st.sampled_from(KNOBS),
    )
    def outside(self, step: str, knob: str) -> None:
        special: dict[str, dict[str, object]] = {"": {}, "lost": {"lost": True}, "slow": {"slow": 3}}
        self.world.set(step, **special.get(knob, {"fail": knob}))

    @precondition(lambda self: Cluster.objects.exists())
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        lease = claim(self.some(data).pk)
        if lease is not None:  # its worker was killed, and the lease ended
            past = clock.now() - dt.timedelta(seconds=1)
            Cluster.objects.filter(pk=lease.cluster_id).update(lease_until=past)

    @precondition(lambda self: Cluster.objects.exists())
    @rule(
        data=st.data(),
        verb=st.sampled_from(VERBS),
    )
    def act(self, data: st.DataObject, verb: str) -> None:
        row = self.some(data)
        order = Order.objects.filter(cluster=row).order_by("created_at")[0]
        acts = {
            "retry": lambda: verbs.retry(actor=self.operator, cluster=row),
            "pause": lambda: verbs.pause(actor=self.operator, cluster=row),
            "resume": lambda: verbs.resume(actor=self.operator, cluster=row),
            "give_up": lambda: verbs.give_up(actor=self.operator, cluster=row, note="No."),
            "cancel": lambda: cancel_order(actor=self.owner, order=order),
            "end": lambda: self.end(row, at_once=True),
            "later": lambda: self.end(row, at_once=False),
        }
        self.attempt(acts[verb])

    def end(self, row: Cluster, *, at_once: bool) -> None:
        """As the owner does."""
        verbs.terminate_cluster(actor=self.owner, cluster=row, typed_name=row.name, at_once=at_once)

    @invariant()
    def a_machine_is_in_at_most_one_pool(self) -> None:
        live = Allocation.objects.filter(released_at=None)
        assert not live.values("machine").annotate(pools=Count("pk")).filter(pools__gt=1).exists()
        held = set(live.values_list("machine", flat=True))
        assert held.isdisjoint(Machine.objects.filter(state=MachineState.FREE).values_list("pk", flat=True))
        assert held == set(Machine.objects.exclude(state=MachineState.FREE).values_list("pk", flat=True))

    @invariant()
    def the_outside_holds_only_what_somebody_has(self) -> None:
        names = {row.external_name for row in Cluster.objects.exclude(phase=Phase.DELETED)}
        assert {thing.split(".")[1] for thing in self.world.things()} <= names

    @invariant()
    def nothing_was_removed_but_on_its_way_out(self) -> None:
        for row in Cluster.objects.filter(wanted=True):
            assert not row.steps.filter(status__in=["removing", "gone"]).exists()

    @invariant()
    def orders_and_clusters_agree(self) -> None:
        for row in Cluster.objects.filter(phase__in=[Phase.READY, Phase.DEGRADED], wanted=True):
            assert Order.objects.get(cluster=row, kind="create").state == OrderState.FULFILLED
        for row in Cluster.objects.filter(phase=Phase.FAILED):
            assert Order.objects.get(cluster=row, kind="create").state == OrderState.FAILED


@case("U38")
@pytest.mark.slow
@pytest.mark.django_db
def test_random_lives() -> None:
    try:
        run_state_machine_as_test(
            Lives,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
            ),
        )
    finally:
        fakes.uninstall()
