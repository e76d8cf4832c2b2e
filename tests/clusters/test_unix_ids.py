"""Blocks of ports and unix ids: never the same twice, never one that something else uses."""

from __future__ import annotations

import socket

import pytest
from pytest_django.fixtures import Settings

from clusters.models import PortBlock
from clusters.services.unix_ids import PORTS_PER_CLUSTER, give_ports, next_unix_id
from portal.lib.errors import WrongState
from tests.builders import make_tenant
from tests.clusters.builders import make_cluster

pytestmark = pytest.mark.django_db


def test_a_block_in_which_something_listens_is_passed_over(settings: Settings) -> None:
    cluster = make_cluster(make_tenant())
    PortBlock.objects.filter(cluster=cluster).delete()
    base = give_ports(cluster).base  # quiet at the moment, and below the ports of outgoing connections
    PortBlock.objects.filter(cluster=cluster).delete()
    settings.LOCAL_PORTS = f"{base}-{base + PORTS_PER_CLUSTER - 1}"
    with socket.create_server(("127.0.0.1", base + 1)), pytest.raises(WrongState, match="in use"):
        give_ports(cluster)
    assert give_ports(cluster).base == base


def test_an_id_is_never_given_out_twice() -> None:
    given = [next_unix_id() for _ in range(5)]
    assert len(set(given)) == len(given)
