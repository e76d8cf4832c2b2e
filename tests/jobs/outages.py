"""The ways in which a real cluster falls silent, with jobs in it, and what must hold meanwhile and after."""

from __future__ import annotations

import datetime as dt
import html
import re
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from django.test import Client

from clusters.models import SlurmEndpoint
from jobs.models import Job, JobEvent, Submission
from jobs.notify.models import JobNotice, JobSubscription
from jobs.observer.loop import claim, observe
from jobs.observer.sources import Memory
from jobs.services import submissions
from jobs.services.drafts import Typed
from portal.lib import clock
from portal.lib.errors import OutsideError
from tests.builders import actor_for, sign_in
from tests.contract.slurmrest.lab import SlurmLab, until
from tests.jobs.long_queue import LongQueue
from tests.jobs.proxies import Front

CTLD_STOPS, REST_STOPS, REST_HANGS = "slurmctld stops", "slurmrestd stops", "slurmrestd hangs"
PAGES, TOKENS = "a proxy answers with pages", "tokens end in mid-poll"
FAULTS = (CTLD_STOPS, REST_STOPS, REST_HANGS, PAGES, TOKENS)
BY_PROXY = frozenset({PAGES, TOKENS})
RUNS = "#!/bin/bash\nsleep 600\n"
ENDS = "#!/bin/bash\nuntil [ -e {go} ]; do sleep 0.1; done\nexit 3\n"
LINE = re.compile(r"^JobId=(\d+) .*?JobState=(\w+) .*?SubmitTime=(\d+) ")
Key = tuple[int, int]  # Slurm's id, and when it was submitted


@contextmanager
def silence(kind: str, lab: SlurmLab, front: Front) -> Iterator[None]:
    """For the duration of the block; those of BY_PROXY are seen by who asks through the front only."""
    with ExitStack() as stack:
        if kind == CTLD_STOPS:
            stack.enter_context(lab.ended("slurmctld"))
        elif kind == REST_STOPS:
            stack.enter_context(lab.ended("slurmrestd"))
        elif kind == REST_HANGS:
            stack.enter_context(lab.hanging("slurmrestd"))
        else:
            stack.callback(_let_through, front)
            front.pages = kind == PAGES
            front.late = None if kind == PAGES else lambda account: lab.token(account, lifetime=-60)
        yield


def _let_through(front: Front) -> None:
    front.pages, front.late = False, None


@dataclass(frozen=True, slots=True)
class Pressed:
    """What a press of a button led to."""

    status: int
    location: str
    text: str


@dataclass
class Scene:
    """A cluster with a member's jobs, the pages that the member has open, and an observer."""

    queue: LongQueue
    client: Client
    memory: Memory = field(default_factory=Memory)
    jobs: dict[str, Job] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The member wants to hear of all ends."""
        sign_in(self.client, self.queue.member)
        JobSubscription.objects.create(
            tenant=self.queue.cluster.tenant,
            user=self.queue.member,
            on_end=True,
            since=clock.now() - dt.timedelta(minutes=1),
        )

    @property
    def at(self) -> str:
        """Where the tenant's pages begin."""
        return f"/t/{self.queue.cluster.tenant.slug}"

    def speak_through(self, front: Front) -> None:
        """The cluster's address is the proxy's from now on."""
        SlurmEndpoint.objects.filter(cluster=self.queue.cluster).update(url=front.url)

    def submit(self, name: str, script: str = RUNS, **fields: str) -> Job:
        """A job of the member, through the portal."""
        actor = actor_for(self.queue.member, self.queue.cluster.tenant)
        typed = Typed(script=script, fields={"name": name, "time_limit_minutes": "30", **fields})
        made = submissions.submit_job(actor=actor, cluster=self.queue.cluster, typed=typed, key=uuid.uuid4())
        assert made.job is not None
        self.jobs[name] = made.job
        return made.job

    def submit_those_that_go_on(self, last: str) -> None:
        """One that runs on, one that ends when it is told to, and one that waits for that end."""
        ended = self.submit(last, ENDS.format(go=self.queue.lab.home(1) / last))
        self.submit("runs")
        self.submit("waits", dependency=f"afterany:{ended.slurm_job_id}")
        self.poll_until(lambda: self.states() == {"runs": "RUNNING", last: "RUNNING", "waits": "PENDING"})

    def let_end(self, name: str) -> None:
        """Tell the job to end; Slurm may be away."""
        (self.queue.lab.home(1) / name).touch()

    def endpoint(self) -> SlurmEndpoint:
        """What is known of the cluster's Slurm."""
        return SlurmEndpoint.objects.get(cluster=self.queue.cluster)

    def poll(self) -> SlurmEndpoint:
        """What the observer does when its time comes; the endpoint after it."""
        SlurmEndpoint.objects.filter(cluster=self.queue.cluster).update(next_observe_at=None)
        claimed = claim(self.queue.cluster.slurm.pk)
        assert claimed is not None
        observe(claimed, {self.queue.cluster.pk: self.memory})
        return self.endpoint()

    def poll_until(self, condition: object) -> None:
        """Poll again and again."""

        def seen() -> bool:
            self.poll()
            return bool(condition())  # type: ignore[operator]

        until(seen, seconds=60, what=f"the rows are {self.states()}")

    def states(self) -> dict[str, str]:
        """By name of the jobs that were submitted here: what the portal shows."""
        keys = {job.pk: name for name, job in self.jobs.items()}
        rows = Job.objects.filter(pk__in=keys).values_list("pk", "state")
        return {keys[key]: state for key, state in rows}

    def known(self) -> object:
        """All that a silent cluster must not change."""
        rows = Job.objects.filter(cluster=self.queue.cluster).order_by("pk")
        return (
            list(rows.values_list("pk", "state", "reason", "observed_at")),
            JobEvent.objects.filter(job__cluster=self.queue.cluster).count(),
            JobNotice.objects.filter(job__cluster=self.queue.cluster).count(),
            self.endpoint().observed_at,
        )

    def told(self) -> dict[Key, str]:
        """What Slurm itself says of all jobs of which it still knows."""
        said = self.queue.lab.run(
            ["scontrol", "--oneliner", "show", "jobs"], variables={"SLURM_TIME_FORMAT": "%s"}
        )
        found = [match for line in said.stdout.splitlines() if (match := LINE.match(line))]
        return {(int(one[1]), int(one[3])): one[2] for one in found}

    def key_of(self, name: str) -> Key:
        """How Slurm and the portal name the same job."""
        row = Job.objects.get(pk=self.jobs[name].pk)
        return row.slurm_job_id, int(row.submit_time.timestamp())

    def is_right_after_one_poll(self) -> None:
        """Rows say what Slurm said before or after it; what Slurm has forgotten has ended, and no more."""
        before = self.told()
        endpoint = self.poll()
        after = self.told()
        assert endpoint.unreachable_since is None
        assert endpoint.failures == 0
        self.agree(before, after)

    def agree(self, *told: dict[Key, str]) -> None:
        """Each row is as one of these says."""
        for row in Job.objects.filter(cluster=self.queue.cluster):
            key = (row.slurm_job_id, int(row.submit_time.timestamp()))
            right = {one.get(key) for one in told}
            is_forgotten = None in right and not row.is_active
            assert row.state in right or is_forgotten, f"{row} is {row.state}, and Slurm says {right}"

    def pages_say_since_when(self) -> None:
        """The job's page, the queue and all jobs: last known states, their age, and who does not answer."""
        seen = self.endpoint()
        assert seen.observed_at is not None
        assert seen.unreachable_since is not None
        as_of = f'class="age late" data-as-of="{seen.observed_at.astimezone(dt.UTC).isoformat()}"'
        cluster = self.queue.cluster.pk
        for path in (f"/jobs/{self.jobs['runs'].pk}/", f"/clusters/{cluster}/queue/"):
            page = self.get(path)
            assert as_of in page
            assert f'data-since="{seen.unreachable_since.isoformat()}"' in page
            assert "Cluster API not reachable since" in page
            assert "Running" in page
            assert "how it ended is not known" not in page
        assert "API not reachable since" in self.get("/jobs/")

    def get(self, path: str) -> str:
        """A page of the tenant's."""
        response = self.client.get(self.at + path)
        assert response.status_code == 200
        return html.unescape(response.content.decode())

    def press_submit(self, name: str) -> Pressed:
        """By the form."""
        fields = {"key": str(uuid.uuid4()), "name": name, "script": "#!/bin/bash\ntrue\n"}
        return self._post(f"/clusters/{self.queue.cluster.pk}/jobs/new/", fields)

    def press_change(self) -> Pressed:
        """Of the time limit of the job that runs."""
        return self._post(f"/jobs/{self.jobs['runs'].pk}/act/change/", {"time_limit_minutes": "20"})

    def submission(self, name: str) -> Submission:
        """What became of a press of Submit."""
        return Submission.objects.get(cluster=self.queue.cluster, request__name=name)

    def _post(self, path: str, fields: dict[str, str]) -> Pressed:
        """By a client of its own, for a thread of its own."""
        client = Client()
        client.cookies = self.client.cookies
        answer = client.post(self.at + path, fields)
        return Pressed(answer.status_code, answer.get("Location", ""), html.unescape(answer.content.decode()))


def answers(lab: SlurmLab) -> bool:
    """Whether a question put to slurmrestd itself is answered."""
    try:
        lab.gateway(timeout=2).diag()
    except OutsideError:
        return False
    return True
