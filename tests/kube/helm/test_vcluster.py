"""What the vcluster chart, from its Go module, makes of the values that drivers send."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusters.clients.kube import errors
from setup import charts
from tests.kube.helm import check, render, sent
from tests.kube.server import KubeServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
RELEASES = sent.every_release("vcluster")
each = pytest.mark.parametrize("one", RELEASES, ids=lambda one: one.by)
DISTINCT = sent.distinct(RELEASES)
each_values = pytest.mark.parametrize("one", DISTINCT, ids=lambda one: one.by)


@pytest.fixture
def chart() -> check.Chart:
    return check.Chart(render.program(), render.chart("vcluster"))


def test_drivers_send_releases_of_this_chart() -> None:
    assert RELEASES


@each
def test_the_pinned_chart_is_the_one_that_is_ordered(one: sent.Sent) -> None:
    assert charts.version(render.ROOT, "vcluster") == one.release.version


@each
def test_a_server_takes_every_object_of_the_chart(
    one: sent.Sent, chart: check.Chart, kube_server: KubeServer
) -> None:
    made = check.apply(kube_server, chart.objects(one.release), one.release.namespace)
    assert {"StatefulSet", "Service", "Secret"} <= {kind.kind for kind, _ in made}


@each
def test_the_project_of_argo_cd_allows_every_object_of_the_chart(
    one: sent.Sent, chart: check.Chart, kube_server: KubeServer
) -> None:
    projects = [found["spec"] for found in one.manifests if found["kind"] == "AppProject"]
    made = check.apply(kube_server, chart.objects(one.release), one.release.namespace)
    for project in projects:
        allowed = {(listed["group"], listed["kind"]) for listed in project["clusterResourceWhitelist"]}
        assert {(kind.group, kind.kind) for kind, _ in made if not kind.namespaced} <= allowed
        places = {destination["namespace"] for destination in project["destinations"]}
        assert {namespace for kind, namespace in made if kind.namespaced} <= places


@each_values
def test_no_value_is_in_vain(one: sent.Sent, chart: check.Chart) -> None:
    assert chart.in_vain(one.release) == []


@each_values
def test_a_misspelt_value_is_refused_by_the_chart_or_then_by_the_server(
    one: sent.Sent, chart: check.Chart, kube_server: KubeServer
) -> None:
    taken = chart.taken_misspelt(one.release)
    for path, text in taken.items():
        if ".nodeLabels." in path:
            continue  # the names of labels are ours
        with pytest.raises(errors.Invalid):
            check.apply(kube_server, render.objects(text), one.release.namespace)
    assert len(taken) < len(list(sent.misspelt(one.release))) / 10


def test_a_value_of_the_wrong_type_is_refused(chart: check.Chart) -> None:
    right = RELEASES[0].release
    assert chart.objects(right)
    wrong = {**right.values, "controlPlane": {"statefulSet": {"highAvailability": {"replicas": "three"}}}}
    with pytest.raises(render.Refused, match="replicas"):
        chart.objects(replace(right, values=wrong))
