"""The processes of `make run`: they come up, survive SIGKILL one by one, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import uuid

import pytest
import requests

from tests.cases import case
from tests.e2e.hands import Hands
from tests.e2e.supervised import Portal
from tests.e2e.waiting import until


@pytest.fixture(scope="module")
def tenant(hands: Hands) -> str:
    """A tenant of this module's own; its slug."""
    slug = f"lab-{uuid.uuid4().hex[:8]}"
    hands.do("found", subject="carla", slug=slug)
    return slug


def remove(portal: Portal, hands: Hands, cluster: str) -> None:
    """Terminate it at once; nothing of it may be left on the machine."""
    name = hands.do("state", cluster=cluster)["name"]
    hands.do("terminate", subject="carla", cluster=cluster)
    hands.wait_for(cluster, "deleted")
    left = [line for line in portal.processes() if name in line]
    assert left == []
    assert not (portal.data / "clusters" / name).exists()


def whole(portal: Portal, name: str) -> bool:
    """One slurmctld, one slurmrestd and two slurmd of this cluster, no more."""
    counts = [
        len([pid for pid in portal.daemons(program) if portal.names(pid, name)])
        for program in ("slurmctld", "slurmrestd", "slurmd")
    ]
    return counts == [1, 1, 2]


@case("U38")
def test_a_worker_killed_while_it_builds_leaves_whole_clusters(
    portal: Portal, hands: Hands, tenant: str
) -> None:
    # every single effect is tried in tests/clusters; here one kill meets two builds at different points
    clusters = [hands.approved("carla", tenant, "gpu-a"), hands.approved("carla", tenant, "gpu-b")]
    old = portal.kill("local")
    names = [hands.wait_for(cluster, "ready")["name"] for cluster in clusters]
    assert portal.wait_for_new("local", old) != old
    assert all(whole(portal, name) for name in names)
    made = {path.name for path in (portal.data / "clusters").iterdir() if path.name.startswith("c-")}
    assert made >= set(names)
    for cluster in clusters:
        remove(portal, hands, cluster)


def test_slurms_own_daemons_come_back_after_a_kill(portal: Portal, hands: Hands, tenant: str) -> None:
    cluster = hands.approved("carla", tenant, "gpu-a")
    name = hands.wait_for(cluster, "ready")["name"]
    for program in ("slurmctld", "slurmrestd"):
        old = next(pid for pid in portal.daemons(program) if portal.names(pid, name))
        os.kill(old, signal.SIGKILL)

        def again(program: str = program, old: int = old) -> bool:
            return any(pid != old and portal.names(pid, name) for pid in portal.daemons(program))

        until(again, f"{program} is started again", seconds=180)
    hands.wait_for(cluster, "ready")
    remove(portal, hands, cluster)


def pages_work(portal: Portal, cookie: str) -> bool:
    """Whether a page that needs database and session is answered; while a part is away it may not be."""
    try:
        answer = requests.get(f"{portal.url}/welcome/", cookies={"sessionid": cookie}, timeout=30)
    except requests.RequestException:
        return False
    return answer.status_code == 200


@pytest.mark.parametrize("part", ["web", "worker", "beat", "observer", "outputs", "redis", "postgres"])
def test_a_killed_part_is_started_again(portal: Portal, hands: Hands, part: str) -> None:
    cookie = hands.do("cookie", subject="carla")["sessionid"]
    assert pages_work(portal, cookie)
    old = portal.kill(part)
    portal.wait_for_new(part, old)
    until(lambda: pages_work(portal, cookie), "pages are answered again", seconds=120)
    assert all(pages_work(portal, cookie) for _ in range(20)), "a connection of before was used again"


def test_nothing_is_lost_when_both_stores_are_killed(portal: Portal, hands: Hands, tenant: str) -> None:
    cluster = hands.approved("carla", tenant, "gpu-a")
    for part in ("postgres", "redis"):
        portal.wait_for_new(part, portal.kill(part))
    cookie = until(
        lambda: hands.tried("cookie", subject="carla").get("sessionid"), "the stores answer", seconds=120
    )
    until(lambda: pages_work(portal, str(cookie)), "pages are answered again", seconds=120)
    hands.wait_for(cluster, "ready", seconds=200)
    remove(portal, hands, cluster)
