"""From sign-up to a finished Slurm job, in the browser, on the processes of `make run`."""

from __future__ import annotations

import re
import time
import uuid

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import walk
from tests.e2e.browser import Person
from tests.e2e.conftest import NewPerson
from tests.e2e.supervised import Portal

STEPS = ("Take machines", "Separate the network", "Start Slurm", "Make accounts", "Run a test job")
GPU_SCRIPT = '#!/bin/bash\necho "GPU=$CUDA_VISIBLE_DEVICES on $(hostname)"\nsleep 5\necho the end\n'
FILLER = "#!/bin/bash\nsleep 600\n"


def approve(operator: Person, name: str) -> float:
    """Review and approve the order of that cluster in the admin; the moment of the click."""
    page = operator.page
    page.goto("/operations/")
    page.get_by_role("link", name="Orders").first.click()
    page.get_by_role("link", name=re.compile(name)).first.click()
    expect(page.get_by_text("Slurm").first).to_be_visible()
    page.get_by_label("Note").fill("Fits.")
    clicked = time.monotonic()
    page.get_by_role("button", name="Approve").click()
    return clicked


def read_trail(page: Page, tenant: str) -> str:
    """The operators' audit list, searched for one tenant."""
    page.goto(f"/operations/tenants/auditevent/?q={tenant}")
    return page.get_by_role("main").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_from_sign_up_to_a_finished_job(portal: Portal, new_person: NewPerson, width: int) -> None:
    word = uuid.uuid4().hex[:6]
    slug, name = f"newton-{word}", f"gpu-{word}"
    admin, operator = new_person(portal.url, width=width), new_person(portal.url)
    for aborted in ("htmx:sendAbort", "htmx:afterRequest"):  # the form is sent while its summary is asked for
        admin.allow(aborted)

    # a new person signs up and founds a tenant
    page = admin.page
    walk.sign_in(page, f"newton-{word}")
    walk.found_tenant(page, "Newton Lab", slug)

    # and orders two GPU nodes
    order = walk.order(page, name=name, nodes=2)
    walk.expect_state(page, "Waiting for approval")
    walk.mark(page)

    # the operator approves in the admin; the tenant's page follows by itself
    walk.sign_in(operator.page, "otto")
    clicked = approve(operator, name)
    for step in STEPS:
        item = page.get_by_role("listitem").filter(has_text=step).first
        expect(item).to_contain_text("Ready", timeout=walk.BUILT)
    walk.expect_state(page, "Fulfilled", within=walk.BUILT)
    print(f"\nFrom approval to ready on the page: {time.monotonic() - clicked:.1f} s")
    assert walk.is_marked(page)
    assert page.url == order

    # a job that waits, because the partition is full
    page.get_by_role("link", name="Open cluster").click()
    page.wait_for_url(re.compile(r"/clusters/[0-9a-f-]{36}/$"))
    cluster = page.url
    filler = walk.submit_job(
        page, cluster, FILLER, {"Name": "filler", "Nodes": "2", "GPUs": "4", "Time limit": "30"}
    )
    walk.expect_state(page, "Running")
    walk.submit_job(page, cluster, GPU_SCRIPT, {"Name": "train", "GPUs": "1", "Time limit": "5"})
    walk.expect_state(page, "Pending")
    walk.mark(page)

    # the filler is cancelled in another tab; the waiting job runs and ends without a reload
    other = admin.context.new_page()
    other.goto(filler)
    walk.cancel_job(other)
    walk.expect_state(other, "Cancelled")
    walk.expect_state(page, "Running")
    walk.expect_state(page, "Completed")
    output = page.get_by_label("Output text")
    expect(output).to_contain_text(re.compile(r"GPU=\d on "), timeout=walk.MOVED)
    expect(output).to_contain_text("the end", timeout=walk.MOVED)
    assert walk.is_marked(page)

    # the operator sees all of it
    trail = read_trail(operator.page, slug)
    for verb in ("founded", "order", "approved", "job"):
        assert verb in trail.lower(), trail
