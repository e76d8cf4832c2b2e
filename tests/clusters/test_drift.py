"""What changed outside is shown, and mended by a person or at once, as the site wants it."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from clusters.models import Cluster, Order, Phase, StepEvent, StepState, StepStatus
from clusters.provisioning import engine
from clusters.services.clusters import mend
from portal.lib.errors import NotAllowed, WrongState
from tenants.models import AuditEvent
from tests.builders import actor_for, make_tenant, sign_in
from tests.clusters.builders import make_cluster, make_order, make_site, operator, owner_of
from tests.clusters.fakes import FakeStep, World, read, write

pytestmark = pytest.mark.django_db


def ready_cluster(*, asks: bool) -> Cluster:
    cluster = make_cluster(make_tenant(), make_site())
    if asks:
        cluster.site.settings = {"mend": "ask"}
        cluster.site.save()
    return look(cluster, 3)


def look(cluster: Cluster, passes: int = 1) -> Cluster:
    for _ in range(passes):
        engine.reconcile(cluster.pk)
    return Cluster.objects.get(pk=cluster.pk)


def change_by_hand(world: World, cluster: Cluster, step: str = "fabric") -> None:
    path = world.thing(step, cluster.external_name)
    there = read(path)
    write(path, {**there, "wanted": {**there["wanted"], "pools": {"train": []}}})


def state_of(cluster: Cluster, step: str = "fabric") -> StepState:
    return StepState.objects.get(cluster=cluster, name=step)


def test_a_site_that_asks_shows_the_drift_with_both_values_and_touches_nothing(world: World) -> None:
    cluster = ready_cluster(asks=True)
    assert cluster.phase == Phase.READY
    change_by_hand(world, cluster)
    applied = len(world.calls("apply"))
    cluster = look(cluster, 3)
    state = state_of(cluster)
    assert (state.status, state.reason, cluster.phase) == (StepStatus.DRIFTED, "Drifted", Phase.DEGRADED)
    (difference,) = state.differences
    assert (difference["thing"], difference["path"], difference["found"]) == (
        "fabric",
        "pools",
        '{"train": []}',
    )
    assert "site-north" in difference["wanted"]
    assert len(world.calls("apply")) == applied
    assert StepEvent.objects.filter(cluster=cluster, step="fabric", status="drifted").count() == 1
    # what builds on it is still looked at and still fine
    assert state_of(cluster, "smoke").status == StepStatus.READY


def test_mending_is_asked_by_an_operator_audited_and_done_once(world: World) -> None:
    cluster = ready_cluster(asks=True)
    change_by_hand(world, cluster)
    look(cluster)
    with pytest.raises(NotAllowed):
        mend(actor=actor_for(owner_of(cluster.tenant), cluster.tenant), cluster=cluster)
    mend(actor=operator(), cluster=cluster)
    cluster = look(cluster)
    state = state_of(cluster)
    assert (state.status, state.differences, state.mend) == (StepStatus.READY, [], False)
    assert cluster.phase == Phase.READY
    told = AuditEvent.objects.get(verb="cluster.mended").detail["differences"]
    assert [one["path"] for one in told] == ["pools"]
    with pytest.raises(WrongState, match="drifted"):
        mend(actor=operator(), cluster=cluster)
    # the next drift is asked about again
    change_by_hand(world, cluster)
    assert state_of(look(cluster)).status == StepStatus.DRIFTED


def test_drift_that_was_mended_by_hand_is_gone_by_itself(world: World) -> None:
    cluster = ready_cluster(asks=True)
    before = read(world.thing("fabric", cluster.external_name))
    change_by_hand(world, cluster)
    look(cluster)
    write(world.thing("fabric", cluster.external_name), before)
    assert look(cluster).phase == Phase.READY
    assert state_of(cluster).differences == []


def test_a_site_that_does_not_ask_is_mended_at_the_next_look(world: World) -> None:
    cluster = ready_cluster(asks=False)
    change_by_hand(world, cluster)
    assert look(cluster).phase == Phase.READY
    assert "site-north" in str(read(world.thing("fabric", cluster.external_name))["wanted"])


def test_no_answer_while_drifted_keeps_what_was_seen(world: World) -> None:
    cluster = ready_cluster(asks=True)
    change_by_hand(world, cluster)
    look(cluster)
    world.set("fabric", fail="temporary", on="observe")
    look(cluster)
    state = state_of(cluster)
    assert (state.status, len(state.differences)) == (StepStatus.DRIFTED, 1)


def test_a_plan_lists_what_each_step_would_touch(world: World) -> None:
    order = make_order(make_tenant(), make_site())
    plan = Order.objects.get(pk=order.pk).plan
    assert plan is not None
    by_name = {step["name"]: step for step in plan["steps"]}
    (change,) = by_name["fabric"]["changes"]
    assert (change["action"], change["system"], change["thing"]) == ("create", "Fake", "fabric")
    assert "train" in change["text"]


def test_a_plan_is_made_while_a_system_is_down_and_says_so(world: World) -> None:
    world.set("fabric", fail="temporary", on="preview")
    order = make_order(make_tenant(), make_site())
    row = Order.objects.get(pk=order.pk)
    assert row.plan is not None
    assert row.plan_hash
    by_name = {step["name"]: step for step in row.plan["steps"]}
    assert by_name["fabric"]["unseen"] == "NotReachable: It does not answer."
    assert by_name["slurm"]["unseen"] == ""


def operators(client: Client) -> Client:
    actor = operator()
    assert actor.user is not None
    return sign_in(client, actor.user)


def test_operators_see_both_values_and_mend_what_they_saw(client: Client, world: World) -> None:
    cluster = ready_cluster(asks=True)
    browser = operators(client)
    page = f"/operations/clusters/cluster/{cluster.pk}/"
    assert "Mend" not in browser.get(f"{page}change/").content.decode()
    change_by_hand(world, cluster)
    look(cluster)
    text = browser.get(f"{page}change/").content.decode()
    for part in ("<th>Wanted</th><th>Found</th>", "{&quot;train&quot;: []}", "site-north-a100-4-01", "Mend"):
        assert part in text
    seen = re.search(r'name="seen" value="([0-9a-f]{64})"', text)
    assert seen is not None
    # it changed again since the page was opened
    refused = browser.post(f"{page}do/mend/", {"seen": "0" * 64}, follow=True)
    assert "The differences changed since you looked at them." in refused.content.decode()
    assert not state_of(cluster).mend
    assert browser.get(f"{page}do/mend/").status_code == 405
    done = browser.post(f"{page}do/mend/", {"seen": seen[1]}, follow=True).content.decode()
    assert "A worker sets right what drifted" in done
    assert "A worker mends it at its next look." in done
    assert look(cluster).phase == Phase.READY
    text = browser.get(f"{page}change/").content.decode()
    assert 'id="drift"' not in text
    again = browser.post(f"{page}do/mend/", {"seen": seen[1]}, follow=True).content.decode()
    assert "Nothing of gpu-a has drifted." in again


def test_the_first_page_of_operations_lists_what_drifted(client: Client, world: World) -> None:
    cluster = ready_cluster(asks=True)
    change_by_hand(world, cluster)
    look(cluster)
    text = operators(client).get("/operations/").content.decode()
    assert "1 stalled or drifted" in text
    assert "Separate the network" in text


def test_a_tenant_reads_which_step_drifted_and_no_values(client: Client, world: World) -> None:
    cluster = ready_cluster(asks=True)
    change_by_hand(world, cluster)
    look(cluster)
    browser = sign_in(client, owner_of(cluster.tenant))
    here = f"/t/{cluster.tenant.slug}/clusters/{cluster.pk}"
    for tab in ("/", "/steps/", "/events/"):
        text = browser.get(f"{here}{tab}").content.decode()
        assert "Something was changed from outside" in text
        assert "&quot;train&quot;" not in text
    overview = browser.get(f"{here}/").content.decode()
    assert "Degraded" in overview
    assert "Separate the network was changed from outside; it works" in overview
    assert browser.post(f"/operations/clusters/cluster/{cluster.pk}/do/mend/").status_code in {302, 403, 404}
    assert not state_of(cluster).mend


def test_the_tenants_trail_holds_no_values_of_the_provider(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeStep, "component", "Netris")
    cluster = ready_cluster(asks=True)
    change_by_hand(world, cluster)
    look(cluster)
    mend(actor=operator(), cluster=cluster)
    detail = AuditEvent.objects.get(verb="cluster.mended").detail
    assert detail == {"steps": {"fabric": 1}, "differences": []}


def test_the_operators_page_costs_the_same_however_much_drifted_or_hangs(
    client: Client, world: World
) -> None:
    cluster = ready_cluster(asks=True)
    browser, page = operators(client), f"/operations/clusters/cluster/{cluster.pk}/change/"
    one = {"thing": "a", "path": "b", "wanted": "c", "found": "d"}

    def cost(names: list[str], **columns: object) -> int:
        cluster.steps.filter(name__in=names).update(**columns)
        browser.get(page)
        with CaptureQueriesContext(connection) as made:
            assert browser.get(page).status_code == 200
        return len(made)

    drifted = {"status": StepStatus.DRIFTED, "reason": "Drifted"}
    little = cost(["fabric"], differences=[one], **drifted)
    assert cost(["fabric", "slurm", "smoke"], differences=[one] * 50, **drifted) == little
    Cluster.objects.filter(pk=cluster.pk).update(wanted=False, phase=Phase.DELETING)
    held = {"status": StepStatus.REMOVING, "reason": "Finalizer", "message": "X is held by y/z for 1 min."}
    little = cost(["fabric"], **held)
    assert cost(["fabric", "slurm", "smoke"], **held) == little
