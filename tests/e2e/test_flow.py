"""From sign-up to a finished Slurm job, in the browser, on the processes of `make run`."""

from __future__ import annotations

import re
import time
import uuid

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


def begin(portal: Portal, person: Person, word: str) -> str:
    """Sign up, found a tenant, order two GPU nodes; the address of the order."""
    for aborted in ("htmx:sendAbort", "htmx:afterRequest"):  # the form is sent while its summary is asked for
        person.allow(aborted)
    walk.sign_in(person.page, word)
    walk.found_tenant(person.page, "Newton Lab", word)
    order = walk.order(person.page, name=f"gpu-{word}", nodes=2)
    walk.expect_state(person.page, "Waiting for approval")
    assert person.page.url == order
    return order


def test_from_sign_up_to_a_finished_job(portal: Portal, new_person: NewPerson) -> None:
    word = f"newton-{uuid.uuid4().hex[:6]}"
    begin(portal, new_person(portal.url, width=390), f"s-{word}")
    admin, phone, operator = new_person(portal.url), new_person(portal.url, width=390), new_person(portal.url)
    page, small = admin.page, phone.page
    order = begin(portal, admin, word)
    walk.mark(page)

    # the same person follows it by phone
    cookies = {str(one["name"]): str(one["value"]) for one in admin.context.cookies()}
    phone.enter(cookies["sessionid"])
    small.goto(order)
    walk.mark(small)

    # the operator approves in the admin; the tenant's pages follow by themselves
    walk.sign_in(operator.page, "otto")
    clicked = approve(operator, f"gpu-{word}")
    for step in STEPS:
        item = page.get_by_role("listitem").filter(has_text=step).first
        expect(item).to_contain_text("Ready", timeout=walk.BUILT)
    walk.expect_state(page, "Fulfilled", within=walk.BUILT)
    print(f"\nFrom approval to ready on the page: {time.monotonic() - clicked:.1f} s")
    walk.expect_state(small, "Fulfilled", within=walk.BUILT)
    assert walk.is_marked(page)
    assert walk.is_marked(small)
    assert page.url == order

    # a job that waits, because the partition is full
    for one in (page, small):
        one.get_by_role("link", name="Open cluster").click()
        one.wait_for_url(re.compile(r"/clusters/[0-9a-f-]{36}/$"))
    cluster = page.url
    walk.submit_job(page, cluster, FILLER, {"Name": "filler", "Nodes": "2", "GPUs": "4", "Time limit": "30"})
    walk.expect_state(page, "Running")
    walk.submit_job(small, cluster, GPU_SCRIPT, {"Name": "train", "GPUs": "1", "Time limit": "5"})
    walk.expect_state(small, "Pending")
    walk.mark(small)

    # the filler is cancelled on the other screen; the waiting job runs and ends without a reload
    walk.cancel_job(page)
    walk.expect_state(page, "Cancelled")
    walk.expect_state(small, "Running")
    walk.expect_state(small, "Completed")
    output = small.get_by_label("Output text")
    expect(output).to_contain_text(re.compile(r"GPU=\d on "), timeout=walk.MOVED)
    expect(output).to_contain_text("the end", timeout=walk.MOVED)
    assert walk.is_marked(small)

    # the operator sees all of it
    trail = read_trail(operator.page, word)
    for verb in ("founded", "order", "approved", "job"):
        assert verb in trail.lower(), trail
