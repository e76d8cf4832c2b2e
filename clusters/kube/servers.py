"""Clients of the API servers that a site names in its settings, with the credentials sealed for the site.

In the site's settings: {"control_plane": {"server": "https://...", "ca": "-----BEGIN ...", or "ca_file"}}.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from clusters.kube import tenant
from clusters.kube.site_settings import HTTPS, Section, bad
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError

MOST = 64  # clients that one process keeps
_lock = threading.Lock()
_kept: OrderedDict[tuple[int, Access], KubeClient] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Server:
    """One API server of a site: a section of its settings and a secret. Called, it gives the client."""

    section: str
    secret: str  # as `manage.py site_secret` knows it
    prefix: str = ""

    def access(self, ctx: StepContext) -> Access:
        """How to reach it. Raises PermanentError BadSiteSettings or SecretMissing."""
        section = Section(ctx.settings, self.section, ("server", "ca", "ca_file"))
        server = section.text("server", HTTPS, "is no plain https address").rstrip("/")
        token = ctx.secrets.get(f"site.{self.secret}", b"").strip()
        if not token:
            raise PermanentError(
                "SecretMissing",
                f"The portal has no credential for the site's {self.section}.",
                hint=f"Store the site's secret {self.secret} (manage.py site_secret), then retry.",
            )
        return Access(server, _authority(section), token=token.decode(), prefix=self.prefix)

    def __call__(self, ctx: StepContext) -> KubeClient:
        """See above."""
        return client_for(self.access(ctx))


CONTROL_PLANE: Final = Server("control_plane", "control-plane-token")
GITOPS: Final = Server("gitops", "argocd-token")
PLATFORM: Final = Server("platform", "platform-access-key", prefix="/kubernetes/management")


def of_tenant(ctx: StepContext) -> KubeClient:
    """The cluster's own API server, as the portal's account there. Raises TemporaryError NoAccessYet."""
    return client_for(tenant.access_of(ctx.secrets))


def gitops_of(settings: Mapping[str, Any]) -> Server:
    """Where Argo CD or Flux is: a server of its own if the site names one, else the control plane's."""
    return GITOPS if GITOPS.section in settings else CONTROL_PLANE


def client_for(access: Access) -> KubeClient:
    """One client per server, credential and process, so that a pass does not begin with handshakes."""
    key = (os.getpid(), access)  # a child of a fork must not use the parent's connections
    with _lock:
        found = _kept.pop(key, None) or KubeClient(access)
        _kept[key] = found
        while len(_kept) > MOST:
            _, oldest = _kept.popitem(last=False)
            oldest.close()
        return found


def _authority(section: Section) -> bytes:
    text, file = section.get("ca", ""), section.get("ca_file", "")
    if isinstance(text, str) and text.startswith("-----BEGIN CERTIFICATE-----") and text.isascii():
        return text.encode("ascii")
    if isinstance(file, str) and file.startswith("/"):
        try:
            return Path(file).read_bytes()
        except OSError as error:
            raise bad(f"{section.name}.ca_file", "cannot be read") from error
    raise section.bad("ca", "is no CA certificate in PEM; or give ca_file")
