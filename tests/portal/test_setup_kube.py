"""The Kubernetes programs: each is looked up by itself, a build happens once, and what is missing is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from setup import __main__ as setup_main
from setup import charts, environment, kube
from setup.progress import SetupFailed

ROOT = Path(__file__).resolve().parents[2]
GO = """#!/bin/sh
case "$1" in
  version) echo "go version go{version} linux/amd64" ;;
  build)
    echo built >>"{tally}"
    for word; do [ "$last" = -o ] && printf '#!/bin/sh\\n' >"$word"; last=$word; done ;;
  mod)
    echo fetched "$4" >>"{tally}"
    cat "{tally}.module" ;;
esac
"""


@pytest.fixture
def open_tmp(tmp_path: Path) -> Path:
    """A folder that every user may enter, as the programs must be."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o755)
    return tmp_path


@pytest.fixture
def clone(open_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with our pins, a cache of its own, and none of the programs anywhere."""
    made = open_tmp / "clone"
    shutil.copytree(ROOT / kube.MODULE, made / kube.MODULE, ignore=shutil.ignore_patterns("crds", "*.py"))
    monkeypatch.setattr(environment, "CACHE", open_tmp / "cache")
    monkeypatch.setattr(kube, "GO_PLACES", "")
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", f"{open_tmp / 'bin'}:/usr/bin:/bin")
    (open_tmp / "bin").mkdir()
    return made


def put(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def put_go(folder: Path, version: str = "1.26.1") -> Path:
    tally = folder / "tally"
    put(folder / "bin" / "go", GO.format(version=version, tally=tally))
    return tally


def test_each_program_is_looked_up_by_itself(
    clone: Path, open_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kube.find(clone) == {}
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(open_tmp / "given"))
    wanted = {
        "etcd": put(open_tmp / "given" / "etcd"),
        "kubectl": put(open_tmp / "bin" / "kubectl", "#!/bin/sh\necho Client Version: v1.36.0\n"),
        "kube-apiserver": put(kube.cache(clone) / "kube-apiserver"),
    }
    assert kube.find(clone) == wanted


def test_another_version_on_the_path_is_passed_over(clone: Path, open_tmp: Path) -> None:
    put(open_tmp / "bin" / "etcd", "#!/bin/sh\necho etcd Version: 3.4.1\n")
    put(open_tmp / "bin" / "kube-apiserver", "#!/bin/sh\necho Kubernetes v1.29.3\n")
    put(open_tmp / "bin" / "kube-controller-manager", "#!/bin/sh\nexit 1\n")
    assert kube.find(clone) == {}
    fits = put(open_tmp / "bin" / "etcd", "#!/bin/sh\necho etcd Version: 3.6.20\n")
    assert kube.find(clone) == {"etcd": fits}


def test_what_only_its_owner_can_run_is_passed_over(
    clone: Path, open_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(open_tmp / "given"))
    there = put(open_tmp / "given" / "etcd")
    assert "etcd" in kube.find(clone)
    there.parent.chmod(0o700)
    assert kube.find(clone) == {}


def test_missing_ones_are_built_once_and_the_pins_name_the_cache(clone: Path, open_tmp: Path) -> None:
    tally = put_go(open_tmp)
    put(kube.cache(clone) / "etcd")
    found = kube.provide(clone)
    assert found.keys() == kube.PACKAGES.keys()
    assert tally.read_text().count("built") == 3
    assert kube.provide(clone) == found
    assert tally.read_text().count("built") == 3
    before = kube.cache(clone)
    with (clone / kube.MODULE / "go.sum").open("a") as sums:
        sums.write("\n")
    assert kube.cache(clone) != before


@pytest.mark.parametrize("version", [None, "1.19.8"])
def test_without_a_go_that_is_new_enough_it_says_what_to_install(
    clone: Path, open_tmp: Path, version: str | None
) -> None:
    if version:
        put_go(open_tmp, version)
    with pytest.raises(SetupFailed, match=r"Install Go 1\.\d+ or newer"):
        kube.provide(clone)
    put_go(open_tmp)
    assert kube.provide(clone)


def test_make_run_links_what_is_there_and_notes_what_is_not(
    clone: Path, open_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube, "_yield_to_others", lambda: None)
    folder = open_tmp / "links"
    assert kube.main([str(clone), str(folder)]) == 0
    note = json.loads((folder / kube.NOTE).read_text())
    assert note["state"] == "missing"
    assert "Install Go" in note["text"]
    put_go(open_tmp)
    assert kube.main([str(clone), str(folder)]) == 0
    assert json.loads((folder / kube.NOTE).read_text())["state"] == "ready"
    assert (folder / "etcd").readlink() == kube.cache(clone) / "etcd"


def test_a_failed_build_keeps_what_was_built(clone: Path, open_tmp: Path) -> None:
    put(open_tmp / "bin" / "go", "#!/bin/sh\n[ $1 = version ] && echo go1.26.0 && exit\nexit 1\n")
    put(kube.cache(clone) / "etcd")
    with pytest.raises(SetupFailed, match="kube-apiserver could not be built"):
        kube.provide(clone)
    assert kube.find(clone).keys() == {"etcd"}


def test_tests_go_on_without_go_but_not_in_ci(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert setup_main._provide_kube(clone, optional=True) == 0
    assert setup_main._provide_kube(clone, optional=False) == 1
    monkeypatch.setenv("CI", "true")
    assert setup_main._provide_kube(clone, optional=True) == 1


def test_helm_has_pins_of_its_own(clone: Path, open_tmp: Path) -> None:
    tally = put_go(open_tmp)
    put(open_tmp / "bin" / "helm", "#!/bin/sh\necho v3.9.1+gabc\n")
    before = kube.cache(clone)
    assert kube.provide(clone, kube.HELM) == {"helm": kube.cache(clone, kube.HELM) / "helm"}
    with (clone / kube.HELM.module / "go.sum").open("a") as sums:
        sums.write("\n")
    assert kube.find(clone, kube.HELM) == {}
    assert kube.cache(clone) == before
    fits = put(open_tmp / "bin" / "helm", "#!/bin/sh\necho v3.21.0\n")
    assert kube.provide(clone, kube.HELM) == {"helm": fits}
    assert tally.read_text().count("built") == 1


def put_module(clone: Path, open_tmp: Path, **told: str) -> Path:
    """What the stand-in for Go says that it downloaded."""
    pin = json.loads((clone / charts.PINS).read_text())["vcluster"]
    chart = put(open_tmp / "module" / pin["folder"] / "templates" / "one.yaml", "kind: One\n", 0o444)
    put(chart.parents[1] / "Chart.yaml", "name: vcluster\n", 0o444)
    answer = {"Dir": str(open_tmp / "module"), "Sum": pin["sum"], **told}
    (open_tmp / "tally.module").write_text(json.dumps(answer))
    return chart


def test_a_chart_is_fetched_once_in_the_version_that_is_pinned(clone: Path, open_tmp: Path) -> None:
    tally = put_go(open_tmp)
    chart = put_module(clone, open_tmp)
    chart.parent.chmod(0o555)  # as Go leaves its cache
    assert charts.find(clone) == {}
    found = charts.provide(clone)
    assert (found["vcluster"] / "templates" / "one.yaml").read_text() == "kind: One\n"
    assert charts.provide(clone) == charts.find(clone) == found
    assert charts.version(clone, "vcluster") == "0.36.1"
    assert tally.read_text() == "fetched github.com/loft-sh/vcluster@v0.36.1\n"


def test_a_chart_that_is_not_the_pinned_one_is_not_taken(clone: Path, open_tmp: Path) -> None:
    put_go(open_tmp)
    put_module(clone, open_tmp, Sum="h1:another")
    with pytest.raises(SetupFailed, match="it was not taken"):
        charts.provide(clone)
    assert charts.find(clone) == {}
    put(open_tmp / "bin" / "go", "#!/bin/sh\n[ $1 = version ] && echo go1.26.0 && exit\nexit 1\n")
    with pytest.raises(SetupFailed, match="could not be fetched"):
        charts.provide(clone)
