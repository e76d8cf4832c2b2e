"""The console of clusters on Kubernetes: a real API server, a kubelet that runs programs, real Slurm.

The real API server checks the portal's rights and proxies to the test's kubelet over verified TLS; that runs
the very command as root, as in a container, and Slurm sees whose uid it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from clusters.clients.kube import errors as kube
from clusters.clients.kube import running
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.clients.slurm_console.console import SlurmConsole
from clusters.clients.slurm_console.pod import NoPodTools, PodConsole
from clusters.clients.slurmrest import errors
from clusters.drivers.slinky import inside, names
from clusters.kube import kinds
from portal.lib.errors import OutsideError
from tests.cases import case
from tests.contract.slurm_console.contract import ConsoleContract, Consoles
from tests.contract.slurmrest.lab import SlurmLab
from tests.kube import roles
from tests.kube.kubelet import NODE, Answer, Asked, Kubelet, pod_on
from tests.kube.pods import Programs, SlurmPods, allowed
from tests.kube.server import KubeServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("pods")]
UID, GID = 70001, 70000


@pytest.fixture
def kube_server(slurm_pods: SlurmPods) -> KubeServer:
    """That of the pods."""
    return slurm_pods.server


@pytest.fixture
def lab(slurm_pods: SlurmPods) -> SlurmLab:
    """Real Slurm on this machine."""
    return slurm_pods.lab


@pytest.fixture
def programs(slurm_pods: SlurmPods) -> Iterator[Programs]:
    """What the kubelet runs."""
    yield slurm_pods.programs
    slurm_pods.programs.reset()


@pytest.fixture
def node(slurm_pods: SlurmPods) -> Kubelet:
    """The kubelet."""
    return slurm_pods.node


@pytest.fixture
def portal(slurm_pods: SlurmPods) -> KubeClient:
    """The portal's way in."""
    return slurm_pods.portal


@pytest.fixture
def consoles(lab: SlurmLab, portal: KubeClient) -> Consoles:
    """As members of the lab, by their uid alone."""

    def made(member: int) -> SlurmConsole:
        who = lab.members[member]
        return inside.console(portal, uid=who.uid, gid=who.gid, timeout=10)

    return made


class TestPods(ConsoleContract):
    """By an exec in a login pod."""


def one(portal: KubeClient, timeout: float = 10) -> PodConsole:
    """Of some account."""
    return inside.console(portal, uid=UID, gid=GID, timeout=timeout)


@case("U03")
def test_what_is_run_where_and_as_whom(portal: KubeClient, node: Kubelet, programs: Programs) -> None:
    programs.answer = lambda asked: Answer()
    one(portal).requeue("12_3")
    asked = node.asked[-1]
    assert (asked.pod, asked.container) == ("slurm/slurm-login-main-5d7-zzzzz", "login")
    assert asked.command[:9] == (
        *("timeout", "--kill-after=1", "9"),
        *(
            "setpriv",
            f"--reuid={UID}",
            f"--regid={GID}",
            "--clear-groups",
            "--no-new-privs",
            "--inh-caps=-all",
        ),
    )
    assert asked.command[-3:] == ("scontrol", "requeue", "12_3")
    assert not any(word in {"sh", "bash", "-c"} for word in asked.command)
    # the portal's credential ends at the API server, and no token of Slurm's goes in at all
    for secret in ("Bearer", portal.access.token, "SLURM_JWT", "eyJ"):
        assert secret not in asked.head
    # the uid is the process's own
    programs.answer = None
    shown: list[bytes] = []
    command = ["setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups", "id"]
    portal.run(inside.login_pod(portal), "login", command, timeout=10, take=shown.append)
    assert b"".join(shown).decode().split() == [f"uid={UID}", f"gid={GID}", f"groups={GID}"]


@pytest.mark.parametrize("ids", [(0, GID), (UID, 0), (401, GID), (65534, GID), (UID, 65534)])
def test_root_and_slurms_own_user_cannot_be_expressed(portal: KubeClient, ids: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="never the system's"):
        inside.console(portal, uid=ids[0], gid=ids[1], timeout=1)


def test_the_right_is_of_one_namespace_and_of_no_one_else(
    kube_server: KubeServer, portal: KubeClient, node: Kubelet, programs: Programs
) -> None:
    programs.answer = lambda asked: Answer(output=b"done\n")
    here = inside.login_pod(portal)
    shown: list[bytes] = []
    assert portal.run(here, "login", ["true"], timeout=10, take=shown.append).code == 0
    assert shown == [b"done\n"]
    before = len(node.asked)
    with (
        pod_on(kube_server, "theirs", "main", namespace="default") as there,
        pytest.raises(kube.Forbidden),
    ):
        portal.run(there, "main", ["true"], timeout=10, take=shown.append)
    tenant = KubeClient(roles.access(kube_server, "tenant"))  # before the driver has bound the role
    with pytest.raises(kube.Forbidden):
        tenant.run(here, "login", ["true"], timeout=10, take=shown.append)
    reader = allowed(
        kube_server, "reader", [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]}], "slurm"
    )
    with pytest.raises(kube.Forbidden):
        reader.run(here, "login", ["true"], timeout=10, take=shown.append)
    with pytest.raises(kube.ParentMissing):
        portal.run(Ref(kinds.POD, "gone", "slurm"), "login", ["true"], timeout=10, take=shown.append)
    assert len(node.asked) == before


@pytest.mark.parametrize(
    ("answer", "change", "look"),
    [
        (Answer(1, words=b"scontrol: error: Invalid job id specified"), errors.UnknownJob, errors.UnknownJob),
        (Answer(1, words=b"Access/permission denied for job 1"), errors.NotPermitted, errors.NotPermitted),
        (Answer(127, words=b"setpriv: failed to execute scontrol"), NoPodTools, NoPodTools),
        (Answer(broken='exec: "timeout": executable file not found in $PATH'), NoPodTools, NoPodTools),
        (Answer(broken="container is not running"), errors.NotReachable, errors.NotReachable),
        (Answer(124), errors.Unclear, errors.NotReachable),
        (Answer(137, words=b"Killed"), errors.Unclear, errors.NotReachable),
    ],
)
def test_how_it_ended_is_told_apart(
    portal: KubeClient, programs: Programs, answer: Answer, change: type[Exception], look: type[Exception]
) -> None:
    programs.answer = lambda asked: answer
    with pytest.raises(change):
        one(portal).requeue("1")
    with pytest.raises(look):
        list(one(portal).queue())


def test_a_program_that_hangs_holds_nobody_up(
    portal: KubeClient, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(asked: Asked) -> Answer:
        time.sleep(3)
        return Answer()

    programs.answer = hang
    began = time.monotonic()
    with pytest.raises(errors.Unclear):
        one(portal, 0.5).requeue("1")
    with pytest.raises(errors.NotReachable):
        list(one(portal, 0.5).queue())
    assert time.monotonic() - began < 5


def test_a_queue_without_end_is_not_read(
    portal: KubeClient, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clusters.clients.slurm_console.commands.MOST_QUEUE", 100_000)
    programs.answer = lambda asked: Answer(output=b"x" * 200_000, words=b"y" * 200_000)
    with pytest.raises(errors.BadAnswer, match="longer than the portal reads"):
        list(one(portal).queue())
    shown: list[bytes] = []
    ended = portal.run(inside.login_pod(portal), "login", ["yes"], timeout=10, take=shown.append)
    assert (sum(map(len, shown)), len(ended.words)) == (200_000, running.MOST_WORDS)


def test_a_node_that_is_gone_and_a_pod_that_is_not_ready(
    kube_server: KubeServer, portal: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pod_on(kube_server, "lost-0", "login", namespace="slurm") as lost:
        spec = {"nodeName": f"{NODE}-gone"}
        assert spec  # a pod's node cannot be changed: a pod of another node is made
        found = kube_server.client.get(lost)
        assert found is not None
        body = {
            **found,
            "metadata": {"name": "lost-1", "namespace": "slurm"},
            "spec": {**found["spec"], **spec},
        }
        kube_server.client.create({"apiVersion": "v1", "kind": "Pod", **body}, kinds.POD)
        ref = Ref(kinds.POD, "lost-1", "slurm")
        with pytest.raises(OutsideError):
            portal.run(ref, "login", ["true"], timeout=10, take=lambda part: None)
        kube_server.client._send(
            "DELETE", ref.path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        )
    monkeypatch.setattr(names, "LOGIN", "other")
    with pytest.raises(errors.NotReachable, match="no login pod"):
        one(portal).requeue("1")
