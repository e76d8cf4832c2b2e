"""Names of clusters and pools: mapped to safe ones, or refused with the rule."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.names import NameRefused, cluster_name, pool_name
from tests.cases import case


@case("U40")
@pytest.mark.parametrize(
    ("typed", "safe"),
    [
        ("train", "train"),
        ("a_b", "a-b"),
        ("-a", "a"),
        ("Ünï", "uni"),
        ("Team A", "team-a"),
        ("team-a", "team-a"),
        ("  gpu  ", "gpu"),
        ("8-way", None),
        ("数据", None),
        ("train\nSchedulerType=x", None),
        ("train\u2028x", None),
        ("tr\u202eain", None),
        ("DEFAULT", None),
        ("all", None),
        ("", None),
        ("---", None),
        ("x" * 70, None),
        ("x" * 30, "x" * 30),
        ("'; DROP TABLE", "drop-table"),
    ],
)
def test_pool_names(typed: str, safe: str | None) -> None:
    if safe is None:
        with pytest.raises(NameRefused) as refused:
            pool_name(typed)
        assert str(refused.value).endswith(".")
    else:
        assert pool_name(typed) == safe


@case("U40")
@given(st.text(max_size=80))
def test_whatever_is_typed_only_safe_names_come_out(typed: str) -> None:
    for name, longest in ((pool_name, 30), (cluster_name, 40)):
        try:
            safe = name(typed)
        except NameRefused:
            continue
        assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", safe)
        assert len(safe) <= longest
        assert name(safe) == safe  # stable
