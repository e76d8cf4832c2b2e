"""A researcher's day on each release of Slurm: an array, pasted, watched by two, cancelled in part, and read.

Real are slurmctld, slurmd, slurmrestd and slurmdbd of the release, the portal's web process, observer and
output reader, and both browsers. What the worker does with accounting once a minute is done when it is due.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.contract.slurmrest.lab import SlurmLab, slurm_lab
from tests.contract.slurmrest.places import RELEASES
from tests.e2e import release_portal, walk
from tests.e2e.browser import Person
from tests.e2e.conftest import NewPerson
from tests.e2e.release_portal import OWNER, RESEARCHER, SLUG, ReleasePortal
from tests.e2e.waiting import until
from tests.fixtures import started

pytestmark = pytest.mark.slow
TASKS, AT_ONCE = 20, 8  # two nodes with four GPUs each
BURNS, CANCELLED, READ = 0, 3, 5
OUTLASTS = RELEASES[-1]  # a hanging controller costs ten seconds: in the browser it is seen once
# Slurm measures the use of short jobs, too
GATHERS = "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=task=1\n"
SCRIPT = f"""\
#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --array=0-{TASKS - 1}
#SBATCH --gres=gpu:1
#SBATCH --time=10
echo "task $SLURM_ARRAY_TASK_ID has GPU $CUDA_VISIBLE_DEVICES"
if [ $SLURM_ARRAY_TASK_ID = {BURNS} ]; then
  end=$((SECONDS + 2))
  while [ $SECONDS -lt $end ]; do :; done
  exit 0
fi
step=0
while [ ! -e go ]; do
  echo "step $((step++))"
  sleep 0.3
done
echo the end
"""


@pytest.fixture(scope="module")
def releases(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ReleasePortal]:
    """One portal for all three clusters."""
    with release_portal.running(pytestconfig.stash[started], tmp_path_factory.mktemp("releases")) as portal:
        yield portal


def enter(portal: ReleasePortal, new_person: NewPerson, subject: str) -> Person:
    """A browser in which this person is signed in."""
    person = new_person(portal.url)
    person.enter(portal.hands.do("cookie", subject=subject)["sessionid"])
    return person


def paste(person: Person, script: str) -> None:
    """Into the code editor, from the clipboard."""
    page = person.page
    person.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("textarea[name=script]").focus()
    editor = page.get_by_role("textbox", name="Script")
    expect(editor).to_be_focused()
    expect(page.locator(".cm-editor")).to_be_visible()
    page.evaluate("text => navigator.clipboard.writeText(text)", script)
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+V")
    expect(page.locator("textarea[name=script]")).to_have_value(script)


def cell(page: Page, task: int) -> Locator:
    """Of the array's page."""
    return page.locator(f"#cell-{task}")


def count(page: Page, word: str, number: int) -> None:
    """Wait until so many tasks are in this state, as the array's page counts them."""
    key = page.get_by_role("list", name="States").get_by_role("listitem").filter(has_text=word)
    expect(key).to_have_text(re.compile(rf"^\s*{word}\s*{number}\s*$"), timeout=walk.MOVED)


def know_use(portal: ReleasePortal, cluster: str) -> None:
    """Let the worker read accounting until a task is in it."""

    def read() -> bool:
        told = portal.hands.do("read_history", cluster=cluster)
        assert told["trouble"] == ""
        return bool(told["known"])

    until(read, "accounting tells of a task that ended", seconds=180, pause=0.3)


def outlast(page: Page, lab: SlurmLab, output: Locator) -> None:
    """The controller hangs in mid-run: the page of a running job says so, and it still runs."""
    silent = page.get_by_text("Cluster API not reachable since")
    with lab.without_controller():
        expect(silent).to_be_visible(timeout=walk.MOVED)
        walk.expect_state(page, "Running")
        expect(output).to_contain_text(f"step {last_step(output) + 2}", timeout=walk.MOVED)
    expect(silent).to_be_hidden(timeout=walk.MOVED)
    walk.expect_state(page, "Running")


def last_step(output: Locator) -> int:
    """The number in the last line that is shown whole."""
    return int(re.findall(r"step (\d+)\n", output.inner_text())[-1])


@pytest.mark.parametrize("release", RELEASES)
def test_an_array_is_pasted_watched_by_two_cancelled_in_part_and_read(
    releases: ReleasePortal, new_person: NewPerson, release: str
) -> None:
    with (
        slurm_lab(3, release=release, accounting=True, more=GATHERS) as lab,
        releases.adopted(lab) as cluster,
    ):
        journey(releases, new_person, lab, cluster)


def journey(portal: ReleasePortal, new_person: NewPerson, lab: SlurmLab, cluster: str) -> None:
    rui, ada = enter(portal, new_person, RESEARCHER), enter(portal, new_person, OWNER)
    own, other = rui.page, ada.page
    home = f"/t/{SLUG}/clusters/{cluster}/"
    other.goto(f"{home}queue/")
    walk.mark(other)

    # one pastes a script and submits it; the other sees it come
    own.goto(f"{home}jobs/new/")
    paste(rui, SCRIPT)
    own.get_by_role("button", name="Submit", exact=True).click()
    own.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}/tasks/$"))
    other.get_by_role("link", name="sweep").click(timeout=walk.MOVED)

    # both watch: eight run, the rest waits for GPUs, the first ends and gives its GPU to the next
    for page in (own, other):
        page.wait_for_url(re.compile("/tasks/$"))
        walk.mark(page)
        expect(page.get_by_text(f"{TASKS} tasks", exact=True)).to_be_visible()
        expect(cell(page, BURNS)).to_contain_text("Completed", timeout=walk.MOVED)
        expect(cell(page, AT_ONCE)).to_contain_text("Running", timeout=walk.MOVED)
        count(page, "Running", AT_ONCE)
        count(page, "Pending", TASKS - AT_ONCE - 1)

    tasks = own.url

    # one cancels a task, and the other sees that it ends, and that task alone
    cell(own, CANCELLED).click()
    walk.expect_state(own, "Running")
    walk.cancel_job(own)
    expect(cell(other, CANCELLED)).to_contain_text("Cancelled", timeout=walk.MOVED)
    count(other, "Running", AT_ONCE)
    count(other, "Cancelled", 1)
    walk.expect_state(own, "Cancelled")

    # what a running task writes is read as it comes
    cell(other, READ).click()
    output = other.get_by_label("Output text")
    expect(output).to_contain_text(re.compile(rf"task {READ} has GPU \d"), timeout=walk.MOVED)
    expect(output).to_contain_text(re.compile(r"step \d+\n"), timeout=walk.MOVED)
    walk.mark(other)
    expect(output).to_contain_text(f"step {last_step(output) + 5}", timeout=walk.MOVED)
    if lab.release == OUTLASTS:
        outlast(other, lab, output)

    # the use of the finished one comes to its page
    own.goto(tasks)
    cell(own, BURNS).click()
    walk.expect_state(own, "Completed")
    walk.mark(own)
    know_use(portal, cluster)
    use = own.get_by_role("region", name="Used of what was given")
    expect(use).to_contain_text(re.compile(r"CPU\s*[\d.]+\s?% of 1 CPU"), timeout=walk.MOVED)
    assert walk.is_marked(own)

    # and the rest comes to its end
    (lab.home() / "go").touch()
    expect(output).to_contain_text("the end", timeout=walk.MOVED)
    walk.expect_state(other, "Completed")
    assert walk.is_marked(other)
    own.goto(tasks)
    count(own, "Completed", TASKS - 1)
    count(own, "Cancelled", 1)
