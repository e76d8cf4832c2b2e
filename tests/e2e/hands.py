"""The test's end of tests.e2e.acting."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from portal.lib.types import JSONDict
from tests.e2e.supervised import ROOT, Portal
from tests.e2e.waiting import until


class Hands:
    """Does things in a running portal."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child

    def do(self, act: str, **details: object) -> JSONDict:
        """One act of tests.e2e.acting.ACTS; its answer. A refusal fails the test."""
        answer = self.tried(act, **details)
        assert "error" not in answer, f"{act}: {answer['error']}"
        return answer

    def tried(self, act: str, **details: object) -> JSONDict:
        """The same; a refusal is an answer with `error`."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps({"do": act, **details}) + "\n")
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        assert line, f"{act} failed; its error stands above"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def approved(self, subject: str, slug: str, name: str, *, nodes: int = 2) -> str:
        """Order a cluster, wait for the plan, let otto approve; the cluster's id."""
        order = self.do("order", subject=subject, slug=slug, name=name, nodes=nodes)["order"]
        until(lambda: self.do("planned", order=order)["hash"], "the order has a plan", seconds=120)
        return str(self.do("approve", subject="otto", order=order)["cluster"])

    def wait_for(self, cluster: str, phase: str, *, seconds: float = 240.0) -> JSONDict:
        """The cluster's state once it is in this phase."""

        def look() -> JSONDict | None:
            seen = self.do("state", cluster=cluster)
            return seen if seen["phase"] == phase else None

        try:
            found = until(look, f"the cluster is {phase}", seconds=seconds, pause=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error} {self.do('state', cluster=cluster)}") from None
        assert found is not None
        return found


@contextmanager
def of(portal: Portal) -> Iterator[Hands]:
    """Hands in this portal."""
    with working("tests.e2e.acting", portal.environment_of("web")) as hands:
        yield hands


@contextmanager
def working(module: str, environment: Mapping[str, str]) -> Iterator[Hands]:
    """Hands that know the acts of a module, in the portal of these variables."""
    child = subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield Hands(child)
    finally:
        child.stdin.close()
        child.wait(timeout=20)
        child.stdout.close()
