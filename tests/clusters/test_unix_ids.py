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
    with socket.create_server(("127.0.0.1", 0)) as other:
        used = other.getsockname()[1]
        settings.LOCAL_PORTS = f"{used}-{used + PORTS_PER_CLUSTER - 1}"
        with pytest.raises(WrongState, match="in use"):
            give_ports(cluster)
    settings.LOCAL_PORTS = f"{used}-{used + PORTS_PER_CLUSTER - 1}"
    assert give_ports(cluster).base == used


def test_an_id_is_never_given_out_twice() -> None:
    given = [next_unix_id() for _ in range(5)]
    assert len(set(given)) == len(given)
