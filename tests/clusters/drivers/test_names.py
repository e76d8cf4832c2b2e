"""Nothing that a person typed reaches slurm.conf, a path or a unix account unless our own rules made it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.drivers.local import names, slurmconf
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.settings import LocalSettings
from clusters.provisioning.steps import ClusterSpec, PoolSpec
from portal.lib.errors import PermanentError
from tests.cases import case
from tests.clusters.drivers.lab import CPU, GPU, make_spec

PORTS = range(20000, 20100)
FOLDER = ClusterFolder(Path("/var/lib/freehold/main-abc123/clusters/c-k3m4x2p7q5ab"))
LINE = re.compile(r"[A-Z][A-Za-z]+=[ -~]+|# Written by Freehold; changes are overwritten\.")


def with_pool(name: str, *, machines: tuple[str, ...] = ("gpu-1",)) -> ClusterSpec:
    """A spec whose only pool has this name."""
    return make_spec(pools=(PoolSpec(name, GPU, machines),))


def render(spec: ClusterSpec, *, old: str = "", gone: Collection[str] = ()) -> slurmconf.Rendered:
    """The files of a spec."""
    return slurmconf.render(spec, FOLDER, PORTS, slurm_user="slurm", old=old, gone=gone)


@case("U40")
@pytest.mark.parametrize(
    "name",
    [
        "train\nSchedulerType=x",
        "DEFAULT",
        "default",
        "-a",
        "a" * 70,
        "Ünï",
        "Team A",
        "",
        "a,b",
        "a=b",
        "a#",
        "a\0",
    ],
)
def test_a_pool_name_that_is_not_ours_is_refused(name: str) -> None:
    names.check(with_pool("train"), system_user="freehold")
    with pytest.raises(PermanentError) as refused:
        names.check(with_pool(name), system_user="freehold")
    assert refused.value.reason == "BadName"
    assert name.strip() == "" or name not in refused.value.message


@case("U40")
@given(pool=st.text(max_size=50), machine=st.text(min_size=1, max_size=60), title=st.text(max_size=50))
def test_every_line_of_slurm_conf_is_one_of_ours(pool: str, machine: str, title: str) -> None:
    spec = dataclasses.replace(with_pool("train", machines=(machine, "gpu-1x")), title=title)
    assert "train" in render(spec).slurm
    for shown in (spec, dataclasses.replace(spec, pools=(PoolSpec(pool, GPU, ("gpu-1",)),))):
        try:
            names.check(shown, system_user="freehold")
        except PermanentError:
            continue
        lines = render(shown).slurm.splitlines()
        common = len(slurmconf.COMMON.splitlines()) + len(slurmconf.NO_ACCOUNTING.splitlines())
        assert len(lines) == common + 1 + len(shown.pools[0].machines)
        assert all(LINE.fullmatch(line) for line in lines)
        assert sum(line.startswith("SchedulerType=") for line in lines) == 1


@given(
    machines=st.sets(st.text(min_size=1, max_size=80), min_size=2, max_size=20), longest=st.integers(6, 40)
)
def test_node_names_are_short_unique_host_names(machines: set[str], longest: int) -> None:
    made = {names.node_name(machine, longest) for machine in machines}
    assert len(made) == len(machines)
    assert all(re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", name) and len(name) <= longest for name in made)
    assert not made & names.RESERVED_NODES


def test_a_plain_machine_name_is_the_node_name() -> None:
    assert names.node_name("gpu-a1-07", 15) == "gpu-a1-07"


@pytest.mark.parametrize("field", ["name", "uid", "gid"])
def test_an_account_that_is_not_ours_is_refused(field: str) -> None:
    spec = make_spec()
    bad = {"name": "root", "uid": 0, "gid": 0}[field]
    wrong = dataclasses.replace(spec.accounts[0], **{field: bad})  # type: ignore[arg-type]
    names.check(spec, system_user="freehold")
    with pytest.raises(PermanentError):
        names.check(dataclasses.replace(spec, accounts=(wrong, *spec.accounts[1:])), system_user="freehold")


def test_the_portals_own_user_is_no_account() -> None:
    spec = make_spec()
    with pytest.raises(PermanentError):
        names.check(spec, system_user=spec.accounts[0].name)


def test_nodes_keep_their_ports_when_a_pool_changes() -> None:
    first = render(with_pool("train", machines=("b", "d")))
    assert [node.port for node in first.nodes] == [20010, 20011]
    more = render(with_pool("train", machines=("a", "b", "c", "d")), old=first.slurm)
    assert {node.name: node.port for node in more.nodes if node.name in {"nb", "nd", "b", "d"}} == {
        "b": 20010,
        "d": 20011,
    }
    assert len({node.port for node in more.nodes}) == 4
    less = render(with_pool("train", machines=("d",)), old=more.slurm)
    gone = render(with_pool("train", machines=("d",)), old=less.slurm, gone=less.leaving)
    assert [node.port for node in gone.nodes] == [20011]


def test_a_machine_that_leaves_keeps_its_node_and_loses_its_partition() -> None:
    before = render(make_spec(pools=(PoolSpec("train", GPU, ("a", "b")), PoolSpec("prep", CPU, ("c", "d")))))
    spec = make_spec(pools=(PoolSpec("train", GPU, ("b",)), PoolSpec("prep", CPU, ("d",))))
    during = render(spec, old=before.slurm)
    assert during.leaving == {"a", "c"}
    kept = [text for text in before.slurm.splitlines() if text.startswith("NodeName=")]
    assert [text for text in during.slurm.splitlines() if text.startswith("NodeName=")] == kept
    assert during.gres == before.gres
    assert "PartitionName=train Nodes=b " in during.slurm
    assert "PartitionName=prep Nodes=d " in during.slurm
    assert render(spec, old=during.slurm) == during
    after = render(spec, old=during.slurm, gone={"a"})
    assert after.leaving == {"c"}
    assert {node.name for node in after.nodes} == {"b", "c", "d"}
    assert render(spec, old=after.slurm, gone={"c"}).leaving == frozenset()


def test_ports_of_a_damaged_file_are_not_believed() -> None:
    good = render(with_pool("train", machines=("b", "d")))
    damaged = render(with_pool("train", machines=("b", "d")), old=good.slurm.replace("=20011", "=20010"))
    assert {node.port for node in damaged.nodes} == {20010, 20011}


def test_more_machines_than_ports_are_refused() -> None:
    with pytest.raises(PermanentError) as refused:
        render(with_pool("train", machines=tuple(f"m{number}" for number in range(91))))
    assert refused.value.reason == "NotEnoughPorts"


def test_pools_become_partitions_with_their_gpus() -> None:
    spec = make_spec(pools=(PoolSpec("train", GPU, ("gpu-1",)), PoolSpec("prep", CPU, ("cpu-1",))))
    rendered = render(spec)
    assert "Gres=gpu:a100:2" in rendered.slurm
    assert "PartitionName=train Nodes=gpu-1 Default=YES" in rendered.slurm
    assert "PartitionName=prep Nodes=cpu-1 Default=NO" in rendered.slurm
    assert rendered.gres == f"NodeName=gpu-1 Name=gpu Type=a100 File={FOLDER.root}/dev/nvidia[0-1]\n"


def test_the_local_drivers_refuse_production() -> None:
    assert LocalSettings(data=Path("/var/lib/x"), system_user="freehold").clusters == Path(
        "/var/lib/x/clusters"
    )
    with pytest.raises(PermanentError) as refused:
        LocalSettings(data=Path("/var/lib/x"), system_user="freehold", production=True)
    assert refused.value.reason == "LocalInProduction"


@pytest.mark.parametrize("data", ["relative", "/with blank", "/with\nbreak"])
def test_a_folder_that_slurm_conf_cannot_name_is_refused(data: str) -> None:
    with pytest.raises(PermanentError) as refused:
        LocalSettings(data=Path(data), system_user="freehold")
    assert refused.value.reason == "BadDataFolder"


def test_a_path_too_long_for_sockets_is_refused() -> None:
    assert names.longest_node_name(Path("/var/lib/freehold/main-abc123/clusters")) == 14
    with pytest.raises(PermanentError):
        names.longest_node_name(Path("/var/lib") / ("x" * 60) / "clusters")
