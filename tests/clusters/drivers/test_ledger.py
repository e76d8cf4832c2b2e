"""A machine is in one cluster at a time, and whoever comes second waits."""

from __future__ import annotations

import dataclasses

import pytest

from portal.lib.errors import TemporaryError
from tests.clusters.drivers.lab import Lab
from tests.contract.driver_contract import settle


@pytest.mark.parametrize("name", ["machines", "fabric"])
def test_a_machine_of_another_cluster_is_waited_for(lab: Lab, name: str) -> None:
    step = lab.site[name]
    first, second = lab.cluster(), lab.cluster()
    second = dataclasses.replace(second, spec=dataclasses.replace(second.spec, pools=first.spec.pools))
    settle(step, first)
    with pytest.raises(TemporaryError) as refused:
        step.apply(second)
    assert refused.value.reason == "MachineTaken"
    assert step.observe(first).ready
    step.remove(second)
    assert step.observe(first).ready
    step.remove(first)
    assert settle(step, second).ready


def test_two_sites_may_name_a_machine_alike(lab: Lab) -> None:
    step = lab.site["machines"]
    first, second = lab.cluster(), lab.cluster()
    elsewhere = dataclasses.replace(
        second,
        spec=dataclasses.replace(second.spec, pools=first.spec.pools),
        settings={"site": "annex"},
    )
    assert settle(step, first).ready
    assert settle(step, elsewhere).ready
