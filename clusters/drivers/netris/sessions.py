"""Keeps one logged-in client per controller and process, so that a pass does not log in anew."""

from __future__ import annotations

import hashlib
import os
import threading

from clusters.clients.netris.client import NetrisClient
from clusters.clients.netris.session import Login, Session
from clusters.drivers.netris.settings import NetrisSettings
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError
from portal.lib.http import Outside

SECRET = "site.netris-password"  # noqa: S105  # a name, not a value
TIMEOUT = 20.0  # seconds for one call
_lock = threading.Lock()
_known: dict[tuple[int, str, str, str | None, bytes], NetrisClient] = {}


def client_for(settings: NetrisSettings, ctx: StepContext) -> NetrisClient:
    """The client of the site's controller. Raises PermanentError SecretMissing."""
    password = ctx.secrets.get(SECRET, b"")
    if not password:
        raise PermanentError(
            "SecretMissing",
            "The portal has no password for the fabric controller.",
            hint="Store the site's secret netris-password (manage.py site_secret), then retry.",
        )
    # a child of a fork must not use the parent's connections
    seal = hashlib.sha256(password).digest()
    key = (os.getpid(), settings.url, settings.user, settings.ca_file, seal)
    with _lock:
        if key not in _known:
            outside = Outside(settings.url, timeout=TIMEOUT, authorities=settings.ca_file)
            _known[key] = NetrisClient(Session(outside, Login(settings.user, password.decode())))
        return _known[key]
