"""How the portal first comes into a cluster of the Platform, and how machines are let in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from clusters.clients.kube.models import Access, Ref
from clusters.drivers.vcluster_platform.kinds import API, INSTANCE
from clusters.drivers.vcluster_platform.settings import PlatformSettings
from clusters.kube import exported, foreign
from clusters.kube.step import Clients
from clusters.provisioning.steps import ClusterSpec, StepContext
from portal.lib.errors import TemporaryError

SECONDS: Final = 3600  # of the certificate: used within one pass, and kept nowhere
COMMAND = re.compile(r"curl -[A-Za-z]+ \"?https://[^\s\"'`$;|&<>]+\"? \| sh -[a-z -]*")


class Entrance:
    """Gives the credential that a control plane came with, for the access step."""

    def __init__(self, settings: PlatformSettings, platform: Clients, control_plane: Clients) -> None:
        self._settings = settings
        self._platform = platform
        self._control_plane = control_plane

    def __call__(self, ctx: StepContext) -> Access:
        """Raises TemporaryError until there is one, PermanentError KubeconfigRefused for a bad one."""
        if self._settings.by_secret:
            return exported.read(
                self._control_plane(ctx),
                self._settings.secret,
                namespace=self._settings.host_namespace(ctx.spec),
                public_server=self._settings.address(ctx.spec),
            )
        return self._asked(ctx)

    def _asked(self, ctx: StepContext) -> Access:
        public = self._settings.address(ctx.spec)
        spec = {"certificateTTL": SECONDS, "clientCert": True, **({"server": public} if public else {})}
        body = _body(ctx.spec, "KubeConfig", self._settings, spec)
        ref = Ref(INSTANCE, ctx.spec.name, self._settings.namespace(ctx.spec))
        answer = self._platform(ctx).post(ref, "kubeconfig", body)
        content = str((answer.get("status") or {}).get("kubeConfig") or "")
        if not content:
            raise TemporaryError("KubeconfigNotReady", "The Platform has no kubeconfig of the cluster yet.")
        return foreign.parse(content.encode(), public_server=public)


def join_command(ctx: StepContext, settings: PlatformSettings, platform: Clients) -> str:
    """The line that lets a machine join, to be run on it. It holds a secret: for operators, never stored.

    Raises TemporaryError JoinNotReady where the Platform gives none, or anything but one plain line.
    """
    spec = {"profileRef": settings.profile} if settings.profile else {}
    body = _body(ctx.spec, "JoinScript", settings, spec)
    ref = Ref(INSTANCE, ctx.spec.name, settings.namespace(ctx.spec))
    answer = platform(ctx).post(ref, "joinscript", body)
    command = str((answer.get("status") or {}).get("joinCommand") or "").strip()
    if not COMMAND.fullmatch(command):
        raise TemporaryError("JoinNotReady", "The Platform gives no plain command to join with yet.")
    return command


def _body(
    spec: ClusterSpec, kind: str, settings: PlatformSettings, content: Mapping[str, object]
) -> dict[str, object]:
    meta = {"name": spec.name, "namespace": settings.namespace(spec)}
    return {"apiVersion": API, "kind": f"{INSTANCE.kind}{kind}", "metadata": meta, "spec": content}
