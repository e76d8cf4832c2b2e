"""Finds out which API version to speak with a slurmrestd: the newest that both sides know.

Of a slurmrestd that has only newer ones the oldest is spoken, as the newest family is.

The caller keeps the answer with the cluster until VersionGone makes it ask again.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.dialects import SPOKEN, choose
from clusters.clients.slurmrest.tokens import check_account
from clusters.clients.slurmrest.wire import decode
from portal.lib.http import MEBIBYTE, NoAnswer, NotSent, Outside, TooLarge

_PATH = re.compile(r"/slurm/(v0\.0\.\d{1,4})/")


class DiscoveredVersion(msgspec.Struct, frozen=True, kw_only=True):
    """What to speak, and with whom."""

    api: str  # "v0.0.38"
    release: str  # "22.05.8"; "" where it is not told
    offered: tuple[str, ...]  # all that slurmrestd serves, newest first


class _Document(msgspec.Struct):
    paths: dict[str, msgspec.Raw] | None = None


def discover(
    base_url: str,
    account: str,
    token: Callable[[], str],
    *,
    session: Outside | None = None,
    timeout: float = 10.0,
) -> DiscoveredVersion:
    """Read slurmrestd's own OpenAPI document, choose, and prove the choice by a ping.

    Raises NoCommonVersion with both lists, NotReachable, BadAnswer or TokenRefused.
    """
    outside = session or Outside(base_url, timeout=timeout)
    offered = _offered(outside, check_account(account), token(), timeout)
    chosen = choose(offered)
    if chosen is None:
        raise errors.NoCommonVersion(SPOKEN, offered)
    ping = RestGateway(base_url, chosen, account, token, timeout, session=outside).ping()
    return DiscoveredVersion(api=chosen, release=ping.release, offered=offered)


def _offered(outside: Outside, account: str, token: str, timeout: float) -> tuple[str, ...]:
    headers = {"Accept": "application/json", "X-SLURM-USER-NAME": account, "X-SLURM-USER-TOKEN": token}
    try:
        answer = outside.send("GET", "/openapi/v3", headers=headers, timeout=timeout, limit=32 * MEBIBYTE)
    except (NotSent, NoAnswer) as error:
        raise errors.NotReachable(error.message) from error
    except TooLarge as error:
        raise errors.BadAnswer(error.message) from error
    if answer.status != 200:
        raise errors.from_answer(answer)
    paths = decode(answer.body, _Document).paths
    if not paths:
        raise errors.BadAnswer("The cluster's Slurm API does not say which versions it speaks.")
    found = {match[1] for path in paths if (match := _PATH.match(path))}
    return tuple(sorted(found, key=lambda version: int(version.rpartition(".")[2]), reverse=True))
