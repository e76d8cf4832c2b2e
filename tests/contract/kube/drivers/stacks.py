"""The GPU Operator, plain Kubernetes and Volcano under the contract of Kubernetes drivers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clusters.clients.kube.models import Ref
from clusters.drivers.gpu_operator import GpuSettings, GpuStep, shapes
from clusters.drivers.kubernetes_stack import KubernetesSettings, KubernetesStep
from clusters.drivers.volcano import JobStep, VolcanoSettings, VolcanoStep
from clusters.drivers.volcano.steps import JOB, PROGRAMS, QUEUE
from clusters.kube import kinds, objects
from clusters.kube.gitops.installer import Installer
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import StepContext
from tests.contract.kube.driven import FLAVOR, Driven, one_machine_more
from tests.contract.kube.drivers.slinky import before, how, named, tenants
from tests.kube.charts import GitOps, Made, Values, application_sets, deployment
from tests.kube.server import KubeServer
from tests.kube.vendor_kinds import argo_cd, flux_all, gpu_operator, volcano_queues, workload
from tests.kube.vendors import Controller, Hands, Vendor

GPUS = {
    "gpu_operator": {
        "driver": False,
        "sharing": {FLAVOR.name: {"mig": "half"}},
        "mig_profiles": {
            "half": [
                {"devices": [0, 1, 2, 3], "mig-enabled": False},
                {"devices": [4, 5, 6, 7], "mig-enabled": True, "mig-devices": {"1g.10gb": 7}},
            ]
        },
    }
}
SLICED = {"gpu_operator": {"install": "direct", "sharing": {FLAVOR.name: {"slices": 4}}}}
POOL = "freehold.io/pool"


def with_nodes(server: KubeServer | None, ctx: StepContext) -> StepContext:
    """The nodes of the cluster, one more than it has now, each with all that its GPUs can be divided into."""
    ctx = before(server, ctx, space="gpu-operator")
    if server is not None:
        hands = Hands(server.client)
        for found in server.client.list(kinds.NODE):
            hands.release(Ref(kinds.NODE, found["metadata"]["name"]))
        for machine in one_machine_more(ctx.spec).pools[0].machines:
            add_node(server, machine, pool="gpu", gpus=ctx.spec.pools[0].flavor.gpu_count)
    return ctx


def add_node(server: KubeServer, name: str, *, pool: str, gpus: int) -> None:
    """A node that is ready."""
    hands = Hands(server.client)
    assert hands.create(kinds.NODE, objects.manifest(kinds.NODE, name, {}, labels={POOL: pool}))
    amounts = {"nvidia.com/gpu": gpus, "nvidia.com/gpu.shared": gpus * 4, "nvidia.com/mig-1g.10gb": 7}
    listed = {key: str(value) for key, value in amounts.items()}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status: dict[str, Any] = {"allocatable": listed, "capacity": listed, "conditions": [ready]}
    hands.write_status(Ref(kinds.NODE, name), status, "status")


def gpu_chart(values: Values) -> Made:
    """NVIDIA's chart makes the policy of its values."""
    del values
    yield shapes.POLICY, {**shapes.objects_of(GpuSettings())[-1].manifest}


def volcano_chart(values: Values) -> Made:
    """Volcano's programs, and the queue that its controllers make."""
    del values
    for name in PROGRAMS:
        yield deployment(name, "volcano-system")
    yield QUEUE, objects.manifest(QUEUE, "default", {"spec": {"weight": 1}})


def controllers(_: KubeServer) -> Iterable[Controller]:
    """GitOps with both charts, and what their programs do."""
    charts = {"gpu-operator": gpu_chart, "volcano": volcano_chart}
    return [
        argo_cd(),
        *flux_all(),
        application_sets(),
        GitOps(charts),
        gpu_operator(),
        volcano_queues(),
        workload(kinds.DEPLOYMENT),
    ]


def policies(_: KubeServer) -> Iterable[Controller]:
    """The operator alone."""
    return [gpu_operator()]


def jobs(_: KubeServer) -> Iterable[Controller]:
    """Volcano runs every job."""

    def status(found: object, age: float) -> dict[str, Any]:
        return {"state": {"phase": "Completed" if age > 0.2 else "Pending"}, "minAvailable": 1}

    return [Vendor(JOB, status)]


def services(_: KubeServer) -> Iterable[Controller]:
    """Deployments all come up."""
    return [workload(kinds.DEPLOYMENT)]


def gpus(controller: str, clients: Clients) -> ObjectsStep:
    """By a chart."""
    return GpuStep(GpuSettings.from_site(GPUS), clients, tenants, Installer(how(controller)))


def gpus_directly(clients: Clients) -> ObjectsStep:
    """By the operator's own objects."""
    return GpuStep(GpuSettings.from_site(SLICED), clients, tenants)


def kubernetes(clients: Clients) -> ObjectsStep:
    """Without any stack."""
    return KubernetesStep(KubernetesSettings.from_site({}), clients)


def volcano(controller: str, clients: Clients) -> ObjectsStep:
    """By a chart."""
    settings = VolcanoSettings.from_site({"volcano": {"registry": "registry.example"}})
    return VolcanoStep(settings, Installer(how(controller)), clients, tenants)


def smoke(clients: Clients) -> ObjectsStep:
    """A job."""
    return JobStep(VolcanoSettings(), clients)


DRIVEN = (
    Driven(
        "gpu-direct",
        named("GpuStep", gpus_directly),
        "tenant",
        before=with_nodes,
        vendors=policies,
        fixed=True,
    ),
    *(
        Driven(
            f"gpu-{controller}",
            named("GpuStep", gpus, controller),
            "argocd",
            before=with_nodes,
            vendors=controllers,
            fixed=True,
        )
        for controller in ("argo", "flux")
    ),
    Driven(
        "kubernetes",
        named("KubernetesStep", kubernetes),
        "tenant",
        before=with_nodes,
        vendors=services,
        looks=2,
    ),
    *(
        Driven(
            f"volcano-{controller}",
            named("VolcanoStep", volcano, controller),
            "argocd",
            before=before,
            vendors=controllers,
            fixed=True,
        )
        for controller in ("argo", "applicationset", "flux")
    ),
    Driven("volcano-argo", named("JobStep", smoke), "tenant", before=before, vendors=jobs, fixed=True),
)
