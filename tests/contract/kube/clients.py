"""Clients with the faults of a bad day, over the same real server."""

from __future__ import annotations

from typing import Any

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from portal.lib.http import Answer


class Died(BaseException):
    """The worker is gone at this point."""


class Counting(KubeClient):
    """Counts what is asked."""

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self.reads = 0
        self.lists = 0
        self.changes = 0

    def _read(self, path: str, *, again: bool = True) -> Answer:
        self.reads += 1
        self.lists += "limit=" in path
        return super()._read(path, again=again)

    def _send(self, *args: Any, **kwargs: Any) -> Answer:
        self.changes += 1
        return super()._send(*args, **kwargs)


class Dying(KubeClient):
    """The worker dies at the n-th change: just before it is sent, or just after the server took it."""

    def __init__(self, access: Access, *, at: int, after: bool) -> None:
        super().__init__(access)
        self._left, self._after = at, after

    def _send(self, *args: Any, **kwargs: Any) -> Answer:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Died
        answer = super()._send(*args, **kwargs)
        if self._left == 0:
            raise Died
        return answer


class Losing(KubeClient):
    """Each change is done, and every second answer is lost."""

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self.lost = 0

    def _send(self, *args: Any, **kwargs: Any) -> Answer:
        answer = super()._send(*args, **kwargs)
        self.lost += 1
        if self.lost % 2:
            raise errors.NotReachable
        return answer


class Failing(KubeClient):
    """The n-th read gets no answer."""

    def __init__(self, access: Access, *, at: int) -> None:
        super().__init__(access)
        self._left = at

    def _read(self, path: str, *, again: bool = True) -> Answer:
        self._left -= 1
        if self._left == 0:
            raise errors.NotReachable
        return super()._read(path, again=again)
