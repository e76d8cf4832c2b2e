"""Runs inside a job: tries what its JSON argument names and prints what it could do. No imports of ours."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path


def list_folder(target: str) -> None:
    """Names in a folder."""
    os.listdir(target)  # noqa: PTH208 -- an iterator would not look before it is asked


def read(target: str) -> None:
    """The first byte of a file."""
    with Path(target).open("rb") as file:
        file.read(1)


def write(target: str) -> None:
    """A new file in a folder."""
    path = Path(target) / f"intruder-{os.getpid()}"
    path.write_text("was here")
    path.unlink()


def connect(target: str) -> None:
    """A Unix socket."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
        client.connect(target)


def rest(target: str) -> None:
    """The nodes of a cluster, with the account and token of this job's environment."""
    headers = {"X-SLURM-USER-NAME": os.environ["ACCOUNT"], "X-SLURM-USER-TOKEN": os.environ["TOKEN"]}
    request = urllib.request.Request(f"{target}/slurm/v0.0.38/nodes", headers=headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
        if not json.load(answer)["nodes"]:
            raise OSError("no nodes")


def signal(target: str) -> None:
    """Another process."""
    os.kill(int(target), 0)


VERBS: dict[str, Callable[[str], None]] = {
    "list": list_folder,
    "read": read,
    "write": write,
    "connect": connect,
    "rest": rest,
    "signal": signal,
}


def main() -> None:
    """Prints one JSON object: name of the attempt to true, or to the error's name."""
    could: dict[str, object] = {}
    for name, (verb, target) in json.loads(sys.argv[1]).items():
        try:
            VERBS[verb](target)
            could[name] = True
        except (OSError, ValueError) as error:
            could[name] = type(error).__name__
    sys.stdout.write(json.dumps(could) + "\n")


if __name__ == "__main__":
    main()
