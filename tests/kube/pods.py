"""The session's Slurm pods: a real API server, a kubelet that runs programs, and real Slurm with slurmdbd.

Imported by tests/conftest.py, so what is heavy is imported when it is used.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from clusters.clients.kube.client import KubeClient
    from tests.contract.slurmrest.lab import SlurmLab
    from tests.kube.kubelet import Answer, Asked, Kubelet
    from tests.kube.server import KubeServer

MEMBERS = 5  # the first two are members of the console's tests, the others of accounting's
SLURM = "slurmctld"  # the container that runs as SlurmUser


class Programs:
    """Runs programs really, with the environment of a container, unless a test has an answer for them."""

    def __init__(self, lab: SlurmLab) -> None:
        from tests.kube.kubelet import really  # noqa: PLC0415

        path = f"{lab.root / 'bin'}:{os.environ['PATH']}"
        self._really = really({"PATH": path, "SLURM_CONF": str(lab.conf)})  # and no token
        self.reset()

    def reset(self) -> None:
        """No answers, and every account known in slurmctld's pod."""
        self.answer: Callable[[Asked], Answer] | None = None
        self.unknown = ""

    def __call__(self, asked: Asked) -> Answer:
        if self.answer is not None:
            return self.answer(asked)
        if asked.container != SLURM:
            return self._really(asked)
        hides = bool(self.unknown) and "getent" in asked.command
        command = tuple(word for word in asked.command if not (hides and word == self.unknown))
        as_slurm = ("setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups", *command)
        answer = self._really(dataclasses.replace(asked, command=as_slurm))
        return dataclasses.replace(answer, code=2) if hides else answer


@dataclass(frozen=True)
class SlurmPods:
    """All of it. `portal` has exactly the role of deploy/rbac for it, bound where the driver binds it."""

    server: KubeServer
    lab: SlurmLab
    programs: Programs
    node: Kubelet
    portal: KubeClient


@pytest.fixture(scope="session")
def slurm_pods() -> Iterator[SlurmPods]:
    """A login pod that is ready, one that is not, and slurmctld's; on a server where no namespace must go."""
    from clusters.drivers.slinky import inside, names  # noqa: PLC0415
    from tests.contract.slurmrest.lab import slurm_lab  # noqa: PLC0415
    from tests.kube.fixtures import running_server  # noqa: PLC0415
    from tests.kube.kubelet import kubelet, pod_on  # noqa: PLC0415

    login = {inside.INSTANCE: names.login_set()}
    with running_server() as server, slurm_lab(members=MEMBERS, accounting=True) as lab:
        programs = Programs(lab)
        with (
            kubelet(server, programs) as node,
            pod_on(server, "slurm-login-main-5d7-aaaaa", "login", labels=login, ready=False),
            pod_on(server, "slurm-login-main-5d7-zzzzz", "login", labels=login, others=("logfile",)),
            pod_on(server, inside.CONTROLLER_POD, SLURM, others=("logfile",)),
        ):
            portal = allowed(server, "console", rules_of("freehold-console"), names.NAMESPACE)
            yield SlurmPods(server, lab, programs, node, portal)


def rules_of(name: str) -> list[dict[str, Any]]:
    """Of a role of deploy/rbac/tenant.yaml."""
    from tests.kube import roles  # noqa: PLC0415

    (found,) = (
        one["rules"]
        for one in roles.documents("tenant")
        if one["kind"] == "ClusterRole" and one["metadata"]["name"].endswith(name)
    )
    return list(found)


def allowed(server: KubeServer, account: str, rules: list[dict[str, Any]], within: str) -> KubeClient:
    """An account with the portal's look at pods, and these rules in one namespace; they hold already."""
    from clusters.clients.kube.client import KubeClient  # noqa: PLC0415
    from clusters.clients.kube.errors import Forbidden  # noqa: PLC0415
    from clusters.kube import kinds  # noqa: PLC0415

    client = KubeClient(server.account(account))
    looks = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
    server.allow(account, [*rules, looks], within=within)
    until = time.monotonic() + 20
    while True:
        try:
            client.list(kinds.POD, namespace=within)
        except Forbidden:
            assert time.monotonic() < until, "the rights do not come"
            time.sleep(0.02)
        else:
            return client
