"""Replays recorded answers at the network seam."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.dialects import SPOKEN
from portal.lib.http import Answer, Outside
from portal.lib.types import JSONDict

FOLDER = Path(__file__).parents[2] / "recorded" / "slurmrestd"
ACCOUNT = "fhtests1"
VERSIONS = sorted(path.name for path in FOLDER.iterdir() if path.name in SPOKEN)
OLD = [version for version in VERSIONS if version <= "v0.0.38"]
NEW = [version for version in VERSIONS if version > "v0.0.38"]


def having(name: str) -> list[str]:
    """The versions for which an answer was recorded."""
    return [version for version in VERSIONS if (FOLDER / version / f"{name}.json").exists()]


def recording(version: str, name: str) -> JSONDict:
    """A recorded file as it is."""
    content: JSONDict = json.loads((FOLDER / version / f"{name}.json").read_text(encoding="utf-8"))
    return content


def recorded(version: str, name: str) -> Answer:
    """A recorded answer as it came over the wire."""
    found = recording(version, name)
    return answer(found["status"], found["body"])


def answer(status: int, body: object, *, seconds: float = 0.01) -> Answer:
    """An answer with a JSON or a text body."""
    if isinstance(body, bytes):
        return Answer(status, "application/json", body, seconds)
    if isinstance(body, str):
        return Answer(status, "text/plain", body.encode(), seconds)
    return Answer(status, "application/json", json.dumps(body).encode(), seconds)


class Replay(Outside):
    """Gives the answers in order, the last one for ever, and remembers what was asked."""

    def __init__(self, *answers: Answer | Exception) -> None:
        super().__init__("http://127.0.0.1:1")
        self.answers = list(answers)
        self.asked: list[tuple[str, str, bytes | None]] = []

    def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout: float | None = None,
        limit: int | None = None,
        reuse: bool = False,
    ) -> Answer:
        self.asked.append((method, path, body))
        given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(given, Exception):
            raise given
        return given


def gateway(version: str, *answers: Answer | Exception) -> RestGateway:
    """A gateway that is given these answers."""
    return RestGateway("http://127.0.0.1:1", version, ACCOUNT, lambda: "token", session=Replay(*answers))
