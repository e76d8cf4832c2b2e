"""A cluster grows by a node in the browser: ordered, approved, watched, and used without a reload."""

from __future__ import annotations

import re
import uuid

from playwright.sync_api import Page, expect

from tests.e2e import walk
from tests.e2e.conftest import NewPerson
from tests.e2e.hands import Hands
from tests.e2e.supervised import Portal

TWO_NODES = "#!/bin/bash\nsrun sh -c 'echo on $SLURMD_NODENAME'\n"
# Steps stand on the order's page while it is under way; what each said is kept, as a reload would lose it.
WATCH = """() => {
    window.seen = [];
    const look = () => document.querySelectorAll(".timeline > li").forEach((one) => seen.push(one.innerText));
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}"""
STEPS = ("Take machines", "Separate the network", "Start Slurm", "Make accounts", "Run a test job")


def approve(operator: Page, name: str) -> None:
    """From the operators' overview to the decision."""
    walk.sign_in(operator, "otto")
    operator.goto("/operations/")
    operator.get_by_role("link", name=re.compile(f"Review {name} ")).click()
    expect(operator.get_by_text("1 → 2").first).to_be_visible()
    operator.get_by_label("Note").fill("One more.")
    operator.get_by_role("button", name="Approve").click()


def test_a_cluster_grows_by_a_node_while_its_pages_are_open(
    portal: Portal, hands: Hands, new_person: NewPerson
) -> None:
    word = uuid.uuid4().hex[:6]
    slug, name, subject = f"grow-{word}", f"gpu-{word}", f"greta-{word}"
    hands.do("found", subject=subject, slug=slug)
    cluster = hands.approved(subject, slug, name, nodes=1)
    hands.wait_for(cluster, "ready")
    owner = new_person(portal.url)
    owner.enter(hands.do("cookie", subject=subject)["sessionid"])
    own, page = f"/t/{slug}/clusters/{cluster}/", owner.page
    page.goto(own)
    nodes = page.locator(".figures > div", has_text="Nodes").first
    expect(nodes).to_contain_text("1 of 1", timeout=walk.MOVED)
    walk.mark(page)

    # in another tab: the form, its summary, the order
    order = owner.context.new_page()
    order.goto(f"{own}resize/")
    order.get_by_role("group", name="Pool train").get_by_role("spinbutton").fill("2")
    expect(order.get_by_text("It grows, so an operator decides.")).to_be_visible()
    order.get_by_role("button", name="Submit resize").click()
    order.wait_for_url(re.compile(r"/orders/[0-9a-f-]{36}/$"))
    walk.expect_state(order, "Waiting for approval")
    order.evaluate(WATCH)

    # the operator approves; the steps are shown as they go
    approve(new_person(portal.url).page, name)
    walk.expect_state(order, "Fulfilled", within=walk.BUILT)
    seen: list[str] = order.evaluate("window.seen")
    for step in STEPS:
        assert any(step in line for line in seen), seen
    assert any("Start Slurm" in line and re.search("In progress|Waiting", line) for line in seen), seen
    assert any("Start Slurm" in line and "Ready" in line for line in seen), seen

    # the cluster's page followed too, and a job over both nodes runs
    expect(nodes).to_contain_text("2 of 2", timeout=walk.BUILT)
    expect(page.get_by_text("Ready").first).to_be_visible()
    assert walk.is_marked(page)
    walk.submit_job(page, page.url, TWO_NODES, {"Name": "both", "Nodes": "2", "Time limit": "5"})
    walk.expect_state(page, "Completed")
    output = page.get_by_label("Output text")
    expect(output).to_contain_text(re.compile(r"on \S+\s+on \S+"), timeout=walk.MOVED)
    assert len(set(output.inner_text().split()) - {"on"}) == 2
