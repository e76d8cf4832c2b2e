"""Amounts that are written differently and are the same."""

from __future__ import annotations

import pytest

from clusters.kube.quantities import same_quantity


@pytest.mark.parametrize(
    ("left", "right"),
    [("65536Mi", "64Gi"), ("1048576Mi", "1Ti"), ("1000m", "1"), ("0.5", "500m"), (8, "8"), ("1k", "1000")],
)
def test_one_amount_in_two_forms(left: object, right: object) -> None:
    assert same_quantity(left, right)
    assert same_quantity(right, left)


@pytest.mark.parametrize(
    ("left", "right"), [("65536Mi", "65Gi"), ("1G", "1Gi"), ("1", "1m"), ("many", "many"), (None, None)]
)
def test_other_amounts_and_what_is_none(left: object, right: object) -> None:
    assert not same_quantity(left, right)
