"""Round after round: build, run a job, remove, while parts are killed at random moments."""

from __future__ import annotations

import os
import random
import signal
import threading
import uuid

import pytest

from tests.e2e.hands import Hands
from tests.e2e.supervised import Portal
from tests.e2e.waiting import until

ROUNDS = 20
PARTS = ("local", "worker", "beat", "observer", "web", "outputs", "redis")
DAEMONS = ("slurmctld", "slurmrestd", "slurmd")
KILLS = 4  # in one round
PATIENCE = 400.0  # s: a lease of a killed worker for each of them


class Killer(threading.Thread):
    """Kills some parts or daemons of the portal, one after the other, until it is told to stop."""

    def __init__(self, portal: Portal, choice: random.Random) -> None:
        super().__init__(daemon=True)
        self._portal = portal
        self._choice = choice
        self._over = threading.Event()
        self.killed: list[str] = []

    def run(self) -> None:
        """A part three times out of four, else a daemon of Slurm's."""
        while len(self.killed) < KILLS and not self._over.wait(self._choice.uniform(0.2, 2)):
            if self._choice.random() < 0.75:
                name = self._choice.choice(PARTS)
                pid = self._portal.pid_of(name)
            else:
                name = self._choice.choice(DAEMONS)
                pid = next(iter(self._portal.daemons(name)), None)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                self.killed.append(name)

    def stop(self) -> None:
        """No more after this."""
        self._over.set()
        self.join()


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_clusters_are_built_and_removed_whatever_is_killed(portal: Portal, hands: Hands) -> None:
    seed = int(os.environ.get("SOAK_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    choice = random.Random(seed)
    slug = f"soak-{uuid.uuid4().hex[:6]}"
    hands.do("found", subject="hugo", slug=slug)
    for number in range(ROUNDS):
        killer = Killer(portal, choice)
        cluster = hands.approved("hugo", slug, "gpu-a")
        killer.start()
        hands.wait_for(cluster, "ready", seconds=PATIENCE)
        killer.stop()
        print(f"round {number + 1} of {ROUNDS}, seed {seed}: killed {', '.join(killer.killed) or 'nothing'}")
        hands.wait_for(cluster, "ready", seconds=PATIENCE)
        _run_a_job(hands, cluster)
        name = hands.do("state", cluster=cluster)["name"]
        hands.do("terminate", subject="hugo", cluster=cluster)
        hands.wait_for(cluster, "deleted", seconds=PATIENCE)
        assert [line for line in portal.processes() if name in line] == []
        assert not (portal.data / "clusters" / name).exists()


def _run_a_job(hands: Hands, cluster: str) -> None:
    def submit() -> object:
        words = {"subject": "hugo", "cluster": cluster, "script": "#!/bin/bash\ntrue\n"}
        return hands.tried("job", **words, fields={"name": "short"}).get("job")

    job = until(submit, "a job is taken", seconds=PATIENCE, pause=2)
    until(
        lambda: hands.do("job_state", job=job)["state"] == "COMPLETED",
        "the job is completed",
        seconds=PATIENCE,
        pause=1,
    )
