"""The measure beside the portal: `kubectl apply --server-side`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from clusters.clients.kube.models import Access, Manifest
from tests.kube.vendor_platform import kubeconfig


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with a kubeconfig of its own."""

    program: Path
    config: Path

    def __call__(self, file: Path) -> None:
        """Apply what is in the file, in one call as people make it."""
        command = [str(self.program), "--kubeconfig", str(self.config)]
        cache = f"--cache-dir={self.config.parent / 'cache'}"  # of what the server serves, as in a home
        subprocess.run(
            [*command, cache, "apply", "--server-side", "-f", str(file)], check=True, capture_output=True
        )


def write_objects(path: Path, manifests: Iterable[Manifest]) -> Path:
    """A file with all of them."""
    path.write_text("\n".join(json.dumps(one) for one in manifests), encoding="utf-8")
    return path


def write_config(path: Path, access: Access) -> Path:
    """A kubeconfig for the owner of a client certificate."""
    path.touch(mode=0o600)
    path.write_text(kubeconfig(access), encoding="utf-8")
    return path
