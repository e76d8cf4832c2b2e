"""Which tests share a worker, and in which order groups start: the longest first, so none is left alone.

Tests without the mark `slow` are handed out one by one, at the end: they fill every worker evenly.
"""

from __future__ import annotations

import pytest

# The longest first, and what waits beside what works. What is not named comes after these, by its number of
# tests.
LONGEST = (
    "portal",
    "killed portal",
    "kube",
    "scene",
    "releases",
    "tests/clusters/drivers/test_local_contract.py",
    "pages",
    "kube-0",
    "kube-1",
    "tests/api/test_schemathesis.py",
    "tests/clusters/drivers/test_accounting.py",
    "control-plane",
    "tests/clusters/drivers/test_controlplane.py",
    "run",
    "pods",
    "tests/jobs/test_outages.py",
    "tests/clusters/test_real_resize.py",
    "tests/clusters/test_real_kube.py",
    "tests/clusters/drivers/test_daemons.py",
    "tests/clusters/drivers/test_enclosure.py",
    "tests/clusters/drivers/test_accounting_rest.py",
    "parity",
)


def mark(item: pytest.Item) -> None:
    """Give a slow test a group, its module's unless it has one."""
    if item.get_closest_marker("slow") and not group_of(item):
        item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def arrange(items: list[pytest.Item]) -> None:
    """Sort all tests by their groups."""
    sizes: dict[str, int] = {}
    for item in items:
        if group := group_of(item):
            sizes[group] = sizes.get(group, 0) + 1
    places = {group: place for place, group in enumerate(LONGEST)}

    def place(item: pytest.Item) -> tuple[int, int, str]:
        group = group_of(item)
        if not group:
            return len(LONGEST) + (1 if item.get_closest_marker("matrix") else 2), 0, ""
        return places.get(group, len(LONGEST)), -sizes[group], group

    items.sort(key=place)


def group_of(item: pytest.Item) -> str:
    """Its group, or nothing for a test that any worker may take."""
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0] if mark.args else mark.kwargs.get("name", "")) if mark else ""
