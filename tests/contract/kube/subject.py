"""A driver's step on a real API server, as the contract wants to see and disturb it."""

from __future__ import annotations

import base64
import copy
import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Manifest, Ref, ref_of
from clusters.kube import kinds, marks
from clusters.kube.objects import Wanted
from clusters.kube.sinks import Scope
from clusters.provisioning.steps import Step, StepContext
from tests.contract.kube.driven import Driven, spec_of
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands, Namespaces, Running

DEADLINE = 90.0
SERVERS_OWN = ("managedFields", "resourceVersion", "generation", "creationTimestamp")


class KubeSubject:
    """One step with a cluster of which nothing exists yet; `clients` may be swapped for one that fails."""

    def __init__(self, server: KubeServer, driven: Driven, access: Access) -> None:
        self.server = server
        self.driven = driven
        self.access = access
        self.hands = Hands(server.client)
        self._client = KubeClient(access)
        self.clients: Callable[[], KubeClient] = lambda: self._client
        self.objects = driven.step(lambda _: self.clients())
        self.step: Step = self.objects
        self.ctx = self._context()
        self.strangers: list[Ref] = []
        self.vendors = Running(server.client, [*driven.vendors(server), Namespaces()])

    def _context(self) -> StepContext:
        return self.driven.before(self.server, StepContext(spec=spec_of()))

    # -- what the contract asks for

    def inventory(self) -> dict[str, object]:
        """Every object with the cluster's mark, as it is but for what the server and vendors write."""
        return {str(ref): _content(found) for ref, found in self.ours().items()}

    def ours(self) -> dict[Ref, Manifest]:
        """The same as they came."""
        mark = {marks.CLUSTER: self.ctx.spec.id}
        return {
            ref_of(found, scope.kind): found
            for scope in self.scopes()
            for found in self.server.client.list(scope.kind, namespace=scope.namespace, labels=mark)
        }

    def damage(self) -> None:
        """Lose the last object."""
        self.hands.release(self.wanted()[-1].ref)

    def changed(self) -> StepContext:
        """The same cluster with a spec that wants more."""
        return dataclasses.replace(self.ctx, spec=self.driven.changed(self.ctx.spec))

    def impostor(self) -> Callable[[], object]:
        """An object of somebody else's under the name of the last one."""
        one = self.wanted()[-1]
        theirs: dict[str, Any] = copy.deepcopy(dict(one.manifest))
        theirs["metadata"] = {
            name: value for name, value in theirs["metadata"].items() if name in {"name", "namespace"}
        }
        if one.ref.namespace and not self._stays(one.ref.namespace):
            self.strangers.append(Ref(kinds.NAMESPACE, one.ref.namespace))
        end = time.monotonic() + DEADLINE
        while not self._put(one, theirs):  # a namespace that is just going takes nothing
            assert time.monotonic() < end, one.ref
            time.sleep(0.05)
        self.strangers.append(one.ref)
        return lambda: _without_finalizers(_content(self.server.client.get(one.ref) or {}))

    def _stays(self, namespace: str) -> bool:
        """Whether it is there without the step."""
        found = self.server.client.get(Ref(kinds.NAMESPACE, namespace))
        return found is not None and not found["metadata"].get("deletionTimestamp")

    def _put(self, one: Wanted, theirs: Manifest) -> bool:
        if one.ref.namespace:
            self.server.ensure_namespace(one.ref.namespace)
        return self.hands.create(one.kind, theirs)

    def fresh(self) -> None:
        """Start over with another cluster."""
        self.sweep()
        self.ctx = self._context()

    # -- more ways to look and disturb

    def wanted(self) -> tuple[Wanted, ...]:
        """What the step makes, marked."""
        return self.objects.batch(self.objects.for_plan(self.ctx)).wanted

    def scopes(self) -> tuple[Scope, ...]:
        """Where it makes them."""
        return self.objects.scopes(self.ctx)

    def spoil(self, one: Wanted) -> str:
        """Change a field by hand that the driver set; the field's path, or "" if the server takes none."""
        for path, value in _leaves(one.manifest):
            wrong = _other(one, value)
            patch: Any = wrong
            for name in reversed(path):
                patch = {name: patch}
            if self.hands.patch(one.ref, patch) and _at(self.server.client.get(one.ref), path) == wrong:
                return ".".join(path)
        return ""

    def hold(self, ref: Ref, finalizer: str) -> None:
        """Put a finalizer on an object that nobody will take away."""
        found = self.server.client.get(ref)
        assert found is not None
        held = [*(found["metadata"].get("finalizers") or ()), finalizer]
        assert self.hands.patch(ref, {"metadata": {"finalizers": held}})

    def sweep(self) -> None:
        """Remove all that is left of the cluster, and strangers; returns once it is gone."""
        left = dict(reversed(list(self.ours().items())))
        left |= {ref: found for ref in reversed(self.strangers) if (found := self.server.client.get(ref))}
        end = time.monotonic() + DEADLINE
        while left:
            assert time.monotonic() < end, list(left)
            for ref, found in left.items():
                self.hands.release_found(ref, found)
            left = {ref: found for ref in left if (found := self.server.client.get(ref))}
            time.sleep(0.02 if left else 0)
        self.strangers.clear()


def _content(found: Manifest) -> dict[str, Any]:
    meta = {name: value for name, value in found["metadata"].items() if name not in SERVERS_OWN}
    return {**{name: value for name, value in found.items() if name != "status"}, "metadata": meta}


def _without_finalizers(content: dict[str, Any]) -> dict[str, Any]:
    """A vendor puts its own on whatever it sees, strangers included."""
    meta = {name: value for name, value in content["metadata"].items() if name != "finalizers"}
    return {**content, "metadata": meta}


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every plain value below what is not the object's identity; lists cannot be patched one by one."""
    if isinstance(value, dict):
        for name, below in value.items():
            if path or name not in {"apiVersion", "kind", "metadata"}:
                yield from _leaves(below, (*path, name))
    elif path and isinstance(value, str | bool | int):
        yield path, value


def _other(one: Wanted, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if value.isdecimal():
        return str(int(value) + 1)  # a quantity as text
    return base64.b64encode(b"by hand").decode() if one.kind == kinds.SECRET else f"{value}x"


def _at(found: Manifest | None, path: tuple[str, ...]) -> Any:
    value: Any = found
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
