"""Volcano's queues and jobs are read from a real API server with the portal's rights in a tenant's own."""

from __future__ import annotations

import pytest

from clusters.clients.kube.client import KubeClient
from clusters.kube import objects, volcano
from tests.kube import roles
from tests.kube.server import KubeServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
POD = {"spec": {"containers": [{"name": "main", "image": "example.org/train:1"}]}}


def test_what_the_vendors_schemas_hold_is_read_with_the_tenants_rights(kube_server: KubeServer) -> None:
    kube_server.ensure_namespace("look")
    queue = {"spec": {"weight": 7, "capability": {"cpu": "32", "nvidia.com/gpu": 8}, "deserved": {"cpu": 16}}}
    kube_server.client.apply(objects.manifest(volcano.QUEUE, "look-research", queue), volcano.QUEUE)
    tasks = [
        {"name": "worker", "replicas": 4, "template": POD},
        {"name": "ps", "replicas": 1, "template": POD},
    ]
    job = {"spec": {"queue": "look-research", "minAvailable": 3, "tasks": tasks}}
    kube_server.client.apply(objects.manifest(volcano.JOB, "train", job, namespace="look"), volcano.JOB)
    client = KubeClient(roles.access(kube_server, "tenant"))
    try:
        seen = volcano.look(client)
    finally:
        client.close()
    (found,) = [one for one in seen.queues if one.name == "look-research"]
    assert (found.weight, found.capability) == (7, {"cpu": "32", "nvidia.com/gpu": "8"})
    assert found.deserved == {"cpu": "16"}
    (read,) = [one for one in seen.jobs if one.namespace == "look"]
    assert (read.name, read.queue, read.min_available, read.phase) == ("train", "look-research", 3, "")
    assert read.tasks == (volcano.Task("worker", 4), volcano.Task("ps", 1))
    assert read.created_at is not None
