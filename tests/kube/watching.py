"""Follows the objects of a test server by its own watches, as controllers do: no list is asked twice."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest
from clusters.clients.kube.tls import context_for
from portal.lib.errors import OutsideError

PAUSE = 0.2  # before a list that failed is asked again


class Watch:
    """All objects of one kind: listed once, then followed. `changed` is called after each event."""

    def __init__(self, client: KubeClient, kind: Kind, changed: Callable[[], None]) -> None:
        self._client, self._kind, self._changed = client, kind, changed
        self._objects: dict[str, Manifest] = {}
        self._lock = threading.Lock()
        self._stopped = False
        self._connection: http.client.HTTPSConnection | None = None
        version = self._list()
        self._thread = threading.Thread(target=self._work, args=(version,), daemon=True)
        self._thread.start()

    def all(self) -> tuple[Manifest, ...]:
        """As far as the server has told."""
        with self._lock:
            return tuple(self._objects.values())

    def stop(self) -> None:
        """End it."""
        with self._lock:
            self._stopped = True
            if self._connection is not None and self._connection.sock is not None:
                with suppress(OSError):
                    self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    # -- in its thread

    def _work(self, version: str) -> None:
        while not self._stopped:
            if version:
                with suppress(OSError, http.client.HTTPException, ValueError):
                    self._follow(version)
            else:
                time.sleep(PAUSE)  # a kind that is not served yet, or a server that does not answer
            if not self._stopped:
                with suppress(OutsideError):
                    version = self._list()
                self._changed()

    def _list(self) -> str:
        """Read all; the version to follow from, "" where the kind is not served."""
        answer = self._client._read(self._kind.path())
        page = msgspec.json.decode(answer.body) if answer.status == 200 else {}
        found = {self._key(one): self._whole(one) for one in page.get("items") or ()}
        with self._lock:
            self._objects = found
        return str((page.get("metadata") or {}).get("resourceVersion", ""))

    def _follow(self, version: str) -> None:
        """Until the server ends it, or calls the version too old."""
        access = self._client.access
        parts = urlsplit(access.server)
        connection = http.client.HTTPSConnection(
            str(parts.hostname), parts.port, context=context_for(access), timeout=600
        )
        try:
            connection.connect()
            with self._lock:
                self._connection = connection
                if self._stopped:
                    return
            path = f"{access.prefix}{self._kind.path()}?watch=1&resourceVersion={version}"
            connection.request("GET", path, headers=self._client._headers())
            answer = connection.getresponse()
            while answer.status == 200 and (line := answer.readline()):
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    return
                self._take(event["type"], event["object"])
                self._changed()
        finally:
            with self._lock:
                self._connection = None
            connection.close()

    def _take(self, what: str, found: dict[str, Any]) -> None:
        with self._lock:
            if what == "DELETED":
                self._objects.pop(self._key(found), None)
            else:
                self._objects[self._key(found)] = self._whole(found)

    def _whole(self, found: dict[str, Any]) -> Manifest:
        return {**found, "apiVersion": self._kind.api_version, "kind": self._kind.kind}

    @staticmethod
    def _key(found: Manifest) -> str:
        return f"{found['metadata'].get('namespace', '')}/{found['metadata']['name']}"


class Watches:
    """One for each kind that somebody asks for; `changed` is set by every event of any of them."""

    def __init__(self, client: KubeClient) -> None:
        self.changed = threading.Event()
        self._client = client
        self._by_kind: dict[Kind, Watch] = {}

    def all(self, kind: Kind) -> tuple[Manifest, ...]:
        """Every object of a kind, a moment ago."""
        if kind not in self._by_kind:
            self._by_kind[kind] = Watch(self._client, kind, self.changed.set)
        return self._by_kind[kind].all()

    def stop(self) -> None:
        """End all."""
        while self._by_kind:
            self._by_kind.popitem()[1].stop()
