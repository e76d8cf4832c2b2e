"""What drivers order of charts, read back from what they send; whoever installs it, it is the same."""

from __future__ import annotations

from collections import defaultdict

from clusters.kube.renderers.release import Release
from tests.kube.helm import sent

RELEASE = Release(
    "a", "space", "chart", "oci://x/chart", "1", {"one": {"two": [1, {"three": "x"}]}, "on": True}
)


def test_every_way_to_install_a_stack_orders_the_same() -> None:
    by_stack = defaultdict(set)
    for one in sent.every_release():
        stack, _, controller = one.by.partition("/")[0].rpartition("-")
        if controller in {"argo", "applicationset", "flux"} and stack != "gitops":
            release = one.release
            by_stack[stack, release.chart].add((release.name, release.namespace, repr(release.values)))
    assert {"slurm", "slurm-operator"} <= {chart for _, chart in by_stack}
    assert [key for key, found in by_stack.items() if len(found) != 1] == []


def test_a_release_says_all_that_helm_needs() -> None:
    for one in sent.every_release():
        assert all((one.release.name, one.release.namespace, one.release.chart, one.release.version)), one.id


def test_each_value_is_changed_once() -> None:
    found = {path: one.values for path, one in sent.changed(RELEASE)}
    assert found == {
        "one.two.0": {"one": {"two": [2, {"three": "x"}]}, "on": True},
        "one.two.1.three": {"one": {"two": [1, {"three": "xx"}]}, "on": True},
        "on": {"one": {"two": [1, {"three": "x"}]}, "on": False},
    }


def test_each_name_is_misspelt_once() -> None:
    found = {path: one.values for path, one in sent.misspelt(RELEASE)}
    assert found.keys() == {"one", "one.two", "one.two.1.three", "on"}
    assert found["one.two.1.three"] == {"one": {"two": [1, {"threee": "x"}]}, "on": True}
    assert found["on"] == {"one": {"two": [1, {"three": "x"}]}, "onn": True}
