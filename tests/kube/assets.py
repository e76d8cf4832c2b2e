"""The Kubernetes programs for tests: found as `make kube-assets` finds them; none is built here."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from setup import kube
from tests.fixtures.ci import in_ci

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def found() -> dict[str, Path]:
    """What is there, by name: etcd, kube-apiserver, kube-controller-manager, kubectl."""
    return kube.find(ROOT)


def programs() -> dict[str, Path]:
    """All four. Without them the test is skipped, and fails under CI=true."""
    missing = sorted(kube.PACKAGES.keys() - found().keys())
    if missing:
        message = f"{', '.join(missing)} missing: run `make kube-assets` once; it needs Go."
        if in_ci():
            pytest.fail(message)
        pytest.skip(message)
    return found()


def link(folder: Path) -> Path:
    """Links to all four in a folder, as the local driver wants them."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for name, place in programs().items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(place)
    return folder
