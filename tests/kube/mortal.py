"""A worker that dies at one of its outside calls, to Kubernetes or any other: just before it, or after.

Everything that a step asks goes through portal.lib.http.Outside, so no call can be forgotten. Vendors and
servers of tests work in threads of their own and never die.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from clusters.models import Cluster
from clusters.provisioning import engine
from portal.lib.http import Answer, Outside
from tests.contract.kube.clients import Died


@dataclass
class Mortal:
    """Counts the calls of this thread while a pass runs; `at` is the one that is the last."""

    at: int = 0  # 0: it lives
    after: bool = False  # the call is done, and nobody hears the answer
    changes_only: bool = False
    calls: int = 0
    deaths: int = 0
    said: list[str] = field(default_factory=list)
    _armed: bool = False
    _thread: int = field(default_factory=threading.get_ident)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on until the test ends."""
        real: Callable[..., Answer] = Outside.send

        def send(session: Outside, method: str, path: str, **kwargs: Any) -> Answer:
            if not self._armed or threading.get_ident() != self._thread:
                return real(session, method, path, **kwargs)
            if self.changes_only and method == "GET":
                return real(session, method, path, **kwargs)
            self.calls += 1
            if self.calls != self.at:
                return real(session, method, path, **kwargs)
            self.said.append(f"{method} {path}")
            if self.after:
                real(session, method, path, **kwargs)
            raise Died

        monkeypatch.setattr(Outside, "send", send)

    def reconcile(self, cluster_id: object) -> None:
        """One pass, as the engine's; whoever dies in it leaves a lease, which ends by itself."""
        self._armed = True
        try:
            engine.reconcile(str(cluster_id))
        except Died:
            self.deaths += 1
            Cluster.objects.filter(pk=str(cluster_id)).update(lease_until=None)
        finally:
            self._armed = False

    def doom(self, at: int, *, after: bool) -> None:
        """Die at the n-th call from now."""
        self.at, self.after, self.calls = at, after, 0
