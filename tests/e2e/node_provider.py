"""Runs npm oidc-provider, a second real OpenID provider, which requires PKCE and plain logout requests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from portal.lib.types import JSONDict
from tests.e2e import node_packages
from tests.e2e.waiting import free_port
from tests.fixtures.servers import unprivileged_user

SOURCE = Path(__file__).with_name("oidc_provider")
PROGRAM = "server.mjs"
CLIENT_ID = "freehold-e2e"
CLIENT_SECRET = "only-for-tests"


@dataclass(frozen=True, slots=True)
class Provider:
    """A running provider and the client that it knows."""

    issuer: str
    client_id: str = CLIENT_ID
    client_secret: str = CLIENT_SECRET


@contextmanager
def running(public_url: str, accounts: dict[str, JSONDict]) -> Iterator[Provider]:
    """Serve until the block ends. `accounts` maps a subject to its claims; any password is taken."""
    folder = node_packages.installed(SOURCE, [PROGRAM])
    port = free_port()
    settings = {
        "port": port,
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uris": [f"{public_url}/signin/callback/"],
        "post_logout_redirect_uris": [f"{public_url}/"],
        "accounts": accounts,
    }
    user = unprivileged_user()
    child = subprocess.Popen(
        [str(node_packages.NODE), str(folder / PROGRAM), json.dumps(settings)],
        stdin=subprocess.PIPE,  # it ends when this end is closed, however we end
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        user=user.pw_uid if user else None,
        group=user.pw_gid if user else None,
        extra_groups=[] if user else None,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        said = child.stdout.readline()
        assert said.strip() == b"ready", f"The provider did not start: {said!r}"
        yield Provider(issuer=f"http://127.0.0.1:{port}")
    finally:
        child.stdin.close()
        child.stdout.close()
        try:
            child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
