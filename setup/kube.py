"""Provides the Kubernetes programs: each looked up by itself, else built once by Go from pinned modules.

`python3 -m setup.kube CLONE FOLDER` is the form for `make run`: it takes as little of the processor as the
kernel allows, links the programs into the folder, and keeps a note there of how far it is.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from setup import environment
from setup.progress import SetupFailed, run, say

PACKAGES = {  # in the order of their need: the first tests want etcd and the API server
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}
MODULE = Path("tests", "kube")
HELM_PACKAGES = {"helm": "helm.sh/helm/v3/cmd/helm"}
NOTE = "state.json"
GO_PLACES = "/usr/local/go/bin:/usr/lib/go/bin"  # beside PATH: sudo often drops them
HELM_PIN = r"helm\.sh/helm/v3 v(\S+)"
VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Programs:
    """What the go.mod of one folder pins: changing one set does not build the other anew."""

    title: str  # of its folder in the cache
    module: Path
    packages: Mapping[str, str]


KUBERNETES = Programs("kube", MODULE, PACKAGES)
HELM = Programs("helm", MODULE / "helm", HELM_PACKAGES)  # tests render charts with it; the portal does not


def find(clone: Path, programs: Programs = KUBERNETES) -> dict[str, Path]:
    """The programs that are there: of KUBEBUILDER_ASSETS, of PATH in the right version, of the cache."""
    found: dict[str, Path] = {}
    for name in programs.packages:
        for place in (_given(name), _on_path(name, clone), cache(clone, programs) / name):
            if place is not None and _usable(place):
                found[name] = place
                break
    return found


def cache(clone: Path, programs: Programs = KUBERNETES) -> Path:
    """Where programs built from this clone's pins lie. Which Go built them does not change what they do."""
    pins = b"".join((clone / programs.module / name).read_bytes() for name in ("go.mod", "go.sum"))
    return (
        environment.CACHE
        / f"{programs.title}-{hashlib.sha256(pins + platform.machine().encode()).hexdigest()[:12]}"
    )


def provide(clone: Path, programs: Programs = KUBERNETES) -> dict[str, Path]:
    """All programs, built where missing. Raises SetupFailed that says what to install."""
    found = find(clone, programs)
    if len(found) == len(programs.packages):
        return found
    environment.CACHE.mkdir(parents=True, exist_ok=True)
    with (environment.CACHE / "kube.lock").open("w", encoding="ascii") as lock:
        _take(lock.fileno())
        found = find(clone, programs)  # another process may have built them meanwhile
        missing = [name for name in programs.packages if name not in found]
        if missing:
            _build(missing, clone, programs)
    return find(clone, programs)


def go_program(clone: Path) -> tuple[str, Mapping[str, str]]:
    """A Go that is new enough, and its environment. Raises SetupFailed."""
    wanted = _pinned(clone, r"^go (\S+)$")
    go = shutil.which("go", path=f"{os.environ.get('PATH', '')}:{GO_PLACES}")
    text = ".".join(map(str, wanted[:2]))
    if go is None:
        raise SetupFailed(f"Go is missing. Install Go {text} or newer (https://go.dev/dl) to build them.")
    variables = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"}
    if variables.get("HOME", "/nonexistent") == "/nonexistent":
        variables["HOME"] = "/root" if os.geteuid() == 0 else str(environment.CACHE)
    if _version([go, "version"], variables) < wanted:
        raise SetupFailed(f"The Go at {go} is too old. Install Go {text} or newer (https://go.dev/dl).")
    return go, variables


def main(arguments: list[str]) -> int:
    """For `make run`: link and note; the exit code is 0 also without Go: trying again would not help."""
    clone, folder = (Path(argument) for argument in arguments)
    folder.mkdir(mode=0o755, exist_ok=True)
    _yield_to_others()
    try:
        if len(find(clone)) < len(PACKAGES):
            _note(folder, "building", "The Kubernetes programs are being built.")
            go_program(clone)
        found = provide(clone)
    except SetupFailed as error:
        say(str(error))
        _note(folder, "missing", str(error))
        return 0
    for name, place in found.items():
        draft = folder / f".{name}"
        draft.unlink(missing_ok=True)
        draft.symlink_to(place)
        draft.replace(folder / name)
    _note(folder, "ready", "")
    return 0


def _build(missing: list[str], clone: Path, programs: Programs) -> None:
    go, variables = go_program(clone)
    place = cache(clone, programs)
    place.mkdir(exist_ok=True)
    place.chmod(0o755)
    say(f"Building {', '.join(missing)} with Go, once; this takes some minutes")
    for name in missing:
        began = time.monotonic()
        draft = place / f".{name}.new"
        command = ["nice", "-n", "19", go, "build", "-v", "-trimpath", "-ldflags", _stamp(name, clone)]
        command += ["-o", str(draft), programs.packages[name]]
        log = environment.CACHE / f"{place.name}-{name}.log"
        if not run(
            ["env", "-C", str(clone / programs.module), *command],
            log=log,
            note=_Progress(name),
            environment=variables,
        ):
            raise SetupFailed(f"{name} could not be built; the output is in {log}. What was built is kept.")
        draft.chmod(0o755)
        draft.replace(place / name)
        say(f"Built {name} in {time.monotonic() - began:.0f} s")


def _stamp(name: str, clone: Path) -> str:
    """The version that the programs tell; without it clients take them for 0.0.0."""
    if name in HELM_PACKAGES:
        told = ".".join(map(str, _pinned(clone, HELM_PIN, HELM.module)))
        return f"-s -w -X helm.sh/helm/v3/internal/version.version=v{told}"
    major, minor, patch = _pinned(clone, r"k8s\.io/kubernetes v(\S+)")
    stamps = {
        "gitVersion": f"v{major}.{minor}.{patch}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    return "-s -w " + " ".join(
        f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items()
    )


def _pinned(clone: Path, pattern: str, module: Path = MODULE) -> Version:
    match = re.search(pattern, (clone / module / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise SetupFailed(f"{module / 'go.mod'} does not say what it should.")
    return _numbers(match[1])


def _given(name: str) -> Path | None:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    return Path(folder, name) if folder else None


def _on_path(name: str, clone: Path) -> Path | None:
    place = shutil.which(name)
    if place is None:
        return None
    if name in HELM_PACKAGES:
        fits = (
            _version([place, "version", "--short"], os.environ) >= _pinned(clone, HELM_PIN, HELM.module)[:2]
        )
        return Path(place) if fits else None
    ask = [place, "version", "--client"] if name == "kubectl" else [place, "--version"]
    module = r"etcd/server/v3 v(\S+)" if name == "etcd" else r"k8s\.io/kubernetes v(\S+)"
    return Path(place) if _version(ask, os.environ) >= _pinned(clone, module)[:2] else None


def _usable(place: Path) -> bool:
    """Whether every user may run it: in a closed home only its owner could."""
    try:
        real = place.resolve(strict=True)
        return (
            real.is_file()
            and bool(real.stat().st_mode & 0o001)
            and all(p.stat().st_mode & 0o001 for p in real.parents)
        )
    except OSError:
        return False


def _version(command: list[str], variables: Mapping[str, str]) -> Version:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=20, env=dict(variables)
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return _numbers(done.stdout)


def _numbers(text: str) -> Version:
    match = VERSION.search(text)
    return tuple(int(part) for part in match.groups(default="0")) if match else ()


def _take(handle: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("Another process builds the Kubernetes programs; waiting for it")
        fcntl.flock(handle, fcntl.LOCK_EX)


def _yield_to_others() -> None:
    os.nice(19)
    with suppress(OSError):
        # a kernel that shares time among sessions heeds nice only within one
        Path("/proc/self/autogroup").write_text("19", encoding="ascii")


def _note(folder: Path, state: str, text: str) -> None:
    draft = folder / f".{NOTE}"
    draft.write_text(json.dumps({"state": state, "text": text, "since": int(time.time())}), encoding="utf-8")
    draft.replace(folder / NOTE)


class _Progress:
    """Counts what Go reports about."""

    def __init__(self, name: str) -> None:
        self.name, self.loaded, self.compiled = name, 0, 0

    def __call__(self, line: str) -> str | None:
        if line.startswith("go: downloading "):
            self.loaded += 1
            return f"{self.name}: {self.loaded} modules downloaded"
        self.compiled += 1
        return f"{self.name}: {self.compiled} packages compiled, now {line[:50]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
