"""Slurm's lists of hosts, as `scontrol show hostnames` writes them out."""

from __future__ import annotations

import pytest

from jobs.parsing.hosts import MOST, holds, hosts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("n0", ["n0"]),
        ("n[0-2]", ["n0", "n1", "n2"]),
        ("n[1-2,5],gpu-a", ["n1", "n2", "n5", "gpu-a"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
        ("a[1,3]-ib", ["a1-ib", "a3-ib"]),
        ("n[x]", ["nx"]),
    ],
)
def test_names_are_written_out(text: str, names: list[str]) -> None:
    assert hosts(text) == names
    assert all(holds(text, name) for name in names if name != "nx")


@pytest.mark.parametrize(
    ("text", "host"),
    [("n[1-3]", "n4"), ("n[01-03]", "n1"), ("n[1-3]", "n01"), ("n1", "n10"), ("n[1-3", "n2"), ("", "n1")],
)
def test_another_host_is_not_in_it(text: str, host: str) -> None:
    assert not holds(text, host)


def test_a_monstrous_list_is_cut() -> None:
    assert len(hosts("n[0-999999999]")) == MOST
    assert holds("n[0-999999999]", "n123456789")
