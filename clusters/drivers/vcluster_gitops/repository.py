"""The site's Git repository, with its credential for the length of one call."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from clusters.drivers.vcluster_gitops.settings import Git
from clusters.kube.git import Branch
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError

TOKEN, KEY = "site.git-token", "site.git-key"  # names, not values


def branch(git: Git, ctx: StepContext, cache: Path) -> Branch:
    """Where to commit. Raises PermanentError SecretMissing."""
    return Branch(git.url, git.branch, cache, environment=_environment(git, ctx, cache))


def _environment(git: Git, ctx: StepContext, cache: Path) -> Mapping[str, str]:
    if git.url.startswith("https://"):
        coded = base64.b64encode(f"{git.user}:{_secret(ctx, TOKEN)}".encode()).decode()
        # by the environment: an argument could be read by others on this machine
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{git.url}.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {coded}",
        }
    if git.url.startswith("ssh://"):
        key = _kept(cache, "key", _secret(ctx, KEY) + "\n")
        hosts = _kept(cache, "hosts", git.known_hosts + "\n")
        words = ["ssh", "-F", "none", "-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]
        words += ["-o", "StrictHostKeyChecking=yes", "-o", f"UserKnownHostsFile={hosts}"]
        return {"GIT_SSH_COMMAND": shlex.join(words)}
    return {}  # a repository on this machine, e.g. in tests


def _secret(ctx: StepContext, name: str) -> str:
    value = ctx.secrets.get(name, b"").decode().strip()
    if not value:
        raise PermanentError(
            "SecretMissing",
            "The portal has no credential for the site's Git repository.",
            hint=f"Store the site's secret {name.removeprefix('site.')} (manage.py site_secret), then retry.",
        )
    return value


def _kept(cache: Path, what: str, content: str) -> Path:
    """ssh reads keys and hosts from files only: one that nobody else can open, named by its content."""
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = cache / f"{what}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    if not place.exists():
        draft = place.with_suffix(f".{os.getpid()}")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(content)
        draft.replace(place)
    return place
