"""The objects that the metal3 driver sends. Each names only the fields that are ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.clients.kube.models import Manifest
from clusters.drivers.metal3.hosts import CLAIM, CONSUMER, HOST, NEVER, Host
from clusters.drivers.metal3.settings import Metal3Settings
from clusters.kube import marks
from clusters.kube.objects import manifest
from clusters.provisioning.steps import ClusterSpec, PoolSpec

STEP = "machines"
POOL = "freehold.io/pool"
MACHINE = "freehold.io/machine"
CLEAN_SINCE = "freehold.io/clean-since"  # the wipe before this cluster had it
WIPED_FOR, WIPED_AT = "freehold.io/wiped-for", "freehold.io/wiped-at"  # the wipe after the cluster of this id
WIPED = "freehold.io/wiped"  # finalizer: a claim stays until its host was seen wiped


def held(host: Host, spec: ClusterSpec, pool: PoolSpec, settings: Metal3Settings) -> Manifest:
    """A host as the cluster has it. Metal3 always cleans it afterwards, whatever the host said before."""
    body: dict[str, Any] = {
        "online": True,
        "consumerRef": consumer(spec),
        "image": dict(image_on(host, pool, settings)),
        "automatedCleaningMode": "metadata",
    }
    body |= secrets_for(host.name, spec, settings, settings.namespace)
    labels = {**marks.labels(spec, STEP), POOL: pool.name}
    since = host.annotations.get(CLEAN_SINCE) or host.wiped
    return _host(host, settings, body, labels=labels, annotations={CLEAN_SINCE: since})


def going(host: Host, spec: ClusterSpec, settings: Metal3Settings) -> Manifest:
    """A host that is being wiped: still the cluster's, without image and off."""
    body = {"online": False, "consumerRef": consumer(spec), "automatedCleaningMode": "metadata"}
    since = host.annotations.get(CLEAN_SINCE, "")
    return _host(host, settings, body, labels=marks.labels(spec, STEP), annotations={CLEAN_SINCE: since})


def free(host: Host, spec: ClusterSpec, settings: Metal3Settings) -> Manifest:
    """A host that is nobody's any more, with the evidence of its wipe."""
    body = {"online": False, "automatedCleaningMode": "metadata"}
    evidence = {WIPED_FOR: spec.id, WIPED_AT: host.wiped}
    made = _host(host, settings, body, labels={}, annotations=evidence)
    # only as it was seen: a host that anybody changed since is looked at again
    return {**made, "metadata": {**made["metadata"], "resourceVersion": host.version}}


def consumer(spec: ClusterSpec) -> dict[str, str]:
    """Whom a host says it belongs to."""
    return {"apiVersion": "freehold.io/v1", "kind": CONSUMER, "name": spec.name}


def claim_name(spec: ClusterSpec, machine: str) -> str:
    """The name of the claim on one machine."""
    return f"{spec.name}-{machine}"


def claim(
    machine: str, host: Host | None, spec: ClusterSpec, pool: PoolSpec, settings: Metal3Settings
) -> Manifest:
    """A claim on exactly this host. The finalizer lets it go only when the wipe was seen."""
    selector = {"matchLabels": {settings.host_label: machine}, "inNamespace": settings.namespace}
    body: dict[str, Any] = {
        "poweredOn": True,
        "hostSelector": selector,
        "image": dict(image_on(host, pool, settings) if host else image_for(pool, settings)),
        "consumerRef": consumer(spec),
    }
    body |= secrets_for(machine, spec, settings, settings.claim_namespace)
    made = manifest(
        CLAIM,
        claim_name(spec, machine),
        {"spec": body},
        namespace=settings.claim_namespace,
        labels={POOL: pool.name, MACHINE: machine},
        annotations={CLEAN_SINCE: host.cleaned_at or NEVER} if host else {},
    )
    return {**made, "metadata": {**made["metadata"], "finalizers": [WIPED]}}


def image_for(pool: PoolSpec, settings: Metal3Settings) -> Mapping[str, str]:
    """What is put on the machines of a pool."""
    return settings.images.get(pool.flavor.name, settings.image)


def image_on(host: Host, pool: PoolSpec, settings: Metal3Settings) -> Mapping[str, str]:
    """What a machine keeps: another image would wipe it, so a site's new one is for new machines only."""
    wanted = image_for(pool, settings)
    return wanted if host.image_there.get("url", wanted["url"]) == wanted["url"] else host.image_there


def secrets_for(
    machine: str, spec: ClusterSpec, settings: Metal3Settings, namespace: str
) -> dict[str, dict[str, str]]:
    """References to what a machine is told at its first start."""
    named = {"userData": settings.user_data, "networkData": settings.network_data}
    return {
        key: {"name": name.format(cluster=spec.name, machine=machine), "namespace": namespace}
        for key, name in named.items()
        if name
    }


def _host(
    host: Host,
    settings: Metal3Settings,
    body: Mapping[str, Any],
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
) -> Manifest:
    told = {name: value for name, value in annotations.items() if value}
    made = manifest(
        HOST, host.name, {"spec": body}, namespace=settings.namespace, labels=labels, annotations=told
    )
    # with its uid: an apply must never make a host
    return {**made, "metadata": {**made["metadata"], "uid": host.uid}}
