"""Provides vendors' charts from their Go modules, with the hashes that tests/kube/helm/charts.json pins."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from setup import environment, kube
from setup.progress import SetupFailed, say

PINS = kube.HELM.module / "charts.json"
PARTS = ("module", "version", "sum", "folder")


def find(clone: Path) -> dict[str, Path]:
    """The charts that are there, by name."""
    places = {name: _place(name, pin) for name, pin in _pins(clone).items()}
    return {name: place for name, place in places.items() if (place / "Chart.yaml").is_file()}


def provide(clone: Path) -> dict[str, Path]:
    """All charts, fetched where missing. Raises SetupFailed."""
    missing = _pins(clone).keys() - find(clone).keys()
    if missing:
        go, variables = kube.go_program(clone)
        for name in sorted(missing):
            _fetch(name, _pins(clone)[name], [go, "mod", "download", "-json"], variables)
    return find(clone)


def version(clone: Path, name: str) -> str:
    """The release of a chart, which in the vendor's repository no chart says of itself."""
    return _pins(clone)[name]["version"].removeprefix("v")


def _fetch(name: str, pin: Mapping[str, str], command: list[str], variables: Mapping[str, str]) -> None:
    wanted = f"{pin['module']}@{pin['version']}"
    say(f"Fetching chart {name} with Go, once")
    try:
        done = subprocess.run(
            [*command, wanted],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**variables, "GOFLAGS": ""},
            cwd="/",
        )
        told: dict[str, str] = json.loads(done.stdout or "{}")
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise SetupFailed(f"The chart {name} could not be fetched: {error}") from error
    if done.returncode or "Dir" not in told:
        raise SetupFailed(f"{wanted} could not be fetched: {told.get('Error') or done.stderr.strip()}")
    if told["Sum"] != pin["sum"]:
        raise SetupFailed(f"{wanted} is {told['Sum']} and not {pin['sum']}: it was not taken.")
    _put(Path(told["Dir"], pin["folder"]), _place(name, pin))


def _put(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        draft = Path(folder, place.name)
        shutil.copytree(source, draft, copy_function=shutil.copyfile)
        for inner in (draft, *(one for one in draft.rglob("*") if one.is_dir())):
            inner.chmod(0o755)  # folders of Go's cache are closed to writing
        if not place.exists():
            draft.rename(place)


def _place(name: str, pin: Mapping[str, str]) -> Path:
    text = "\n".join(pin[part] for part in PARTS)
    return environment.CACHE / f"chart-{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _pins(clone: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((clone / PINS).read_text(encoding="utf-8"))
    return found
