"""The machines step on Metal3 as a subject of the driver contract."""

from __future__ import annotations

import copy
import dataclasses
import uuid
from collections.abc import Callable
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Manifest, Ref
from clusters.drivers.metal3 import Metal3Settings, steps
from clusters.drivers.metal3.hosts import CLAIM, HOST
from clusters.kube import marks
from clusters.provisioning.steps import ClusterSpec, FlavorSpec, PoolSpec, Step, StepContext
from tenants.ids import short_name
from tests.clusters.metal3.ironic import Metal3
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

FLAVOR = FlavorSpec("h100-8", "h100", 8, 192, 2_000_000)
IMAGE = {"url": "https://images.example.com/gpu.qcow2", "checksum": "https://images.example.com/SUMS"}


def settings_for(metal3: Metal3, **other: object) -> Metal3Settings:
    """A site's settings; with claims if the namespace for them is there."""
    section: dict[str, object] = {
        "namespace": metal3.namespace,
        "image": {**IMAGE, "checksum_type": "sha256", "format": "qcow2"},
        "user_data": "join-{cluster}",
    }
    if metal3.claims:
        section |= {"mode": "claims", "claim_namespace": metal3.claims}
    return Metal3Settings.from_site({"metal3": section | other})


def spec_for(*machines: str, leaving: tuple[str, ...] = ()) -> ClusterSpec:
    """A cluster of which nothing exists yet."""
    identity = uuid.uuid4()
    return ClusterSpec(
        id=str(identity),
        name=f"c-{short_name(identity)}",
        title="Team A",
        tenant="team-a",
        installation="tests",
        pools=(PoolSpec("train", FLAVOR, machines, leaving),),
        accounts=(),
        gid=0,
    )


class Metal3Subject:
    """A cluster of two machines at a site of four; `clients` may be swapped for one that fails."""

    def __init__(self, server: KubeServer, access: Access, metal3: Metal3) -> None:
        self.server = server
        self.access = access
        self.metal3 = metal3
        self.hands = Hands(server.client)
        self._client = KubeClient(access)
        self.clients: Callable[[], KubeClient] = lambda: self._client
        self.settings = settings_for(metal3)
        (self.step,) = self.steps()
        self.ctx = StepContext(spec=spec_for("gpu-1", "gpu-2"))

    def steps(self, **other: object) -> tuple[Step, ...]:
        """The step, with other settings."""
        return steps(settings_for(self.metal3, **other), lambda _: self.clients())

    def host(self, name: str) -> Manifest:
        """A host as it is."""
        found = self.server.client.get(Ref(HOST, name, self.metal3.namespace))
        assert found is not None
        return found

    def state(self, name: str) -> str:
        """How far Metal3 is with it."""
        return str(((self.host(name).get("status") or {}).get("provisioning") or {}).get("state", ""))

    def change(self, name: str, spec: dict[str, Any], **meta: Any) -> None:
        """Change a host by hand."""
        assert self.hands.patch(Ref(HOST, name, self.metal3.namespace), {"spec": spec, "metadata": meta})

    # -- what the contract asks for

    def inventory(self) -> dict[str, object]:
        """Every object with the cluster's mark, without what Metal3 writes."""
        mark = {marks.CLUSTER: self.ctx.spec.id}
        kinds = [(HOST, self.metal3.namespace)]
        kinds += [(CLAIM, self.metal3.claims)] if self.metal3.claims else []
        return {
            f"{kind.kind} {found['metadata']['name']}": copy.deepcopy(found["spec"])
            for kind, namespace in kinds
            for found in self.server.client.list(kind, namespace=namespace, labels=mark)
        }

    def damage(self) -> None:
        """Somebody switches a machine off, or takes a claim's user data away."""
        if self.metal3.claims:
            ref = Ref(CLAIM, f"{self.ctx.spec.name}-gpu-2", self.metal3.claims)
            assert self.hands.patch(ref, {"spec": {"userData": {"name": "theirs"}}})
        else:
            self.change("gpu-2", {"online": False})

    def changed(self) -> StepContext:
        """One machine more."""
        (pool,) = self.ctx.spec.pools
        more = dataclasses.replace(pool, machines=(*pool.machines, "gpu-3"))
        return dataclasses.replace(self.ctx, spec=dataclasses.replace(self.ctx.spec, pools=(more,)))

    def impostor(self) -> Callable[[], object]:
        """Somebody else's hold on the second machine, or on the name of its claim."""
        if self.metal3.claims:
            name = f"{self.ctx.spec.name}-gpu-2"
            spec = {"poweredOn": False, "hostSelector": {"matchLabels": {"pool": "none"}}}
            made = {"apiVersion": CLAIM.api_version, "kind": CLAIM.kind, "spec": spec}
            assert self.hands.create(
                CLAIM, {**made, "metadata": {"name": name, "namespace": self.metal3.claims}}
            )
            ref = Ref(CLAIM, name, self.metal3.claims)
        else:
            self.change("gpu-2", {"consumerRef": {"kind": "Machine", "name": "theirs"}})
            ref = Ref(HOST, "gpu-2", self.metal3.namespace)

        def look() -> object:
            found = self.server.client.get(ref)
            assert found is not None
            return found["spec"], found["metadata"].get("labels")

        return look

    def fresh(self) -> None:
        """Another cluster."""
        self.ctx = StepContext(spec=spec_for("gpu-1", "gpu-2"))
