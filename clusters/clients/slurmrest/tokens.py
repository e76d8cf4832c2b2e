"""Mints tokens for slurmrestd: minutes long, per use, and only for accounts that Freehold made.

The key is a cluster's root key: whoever is named in `sun` is who Slurm believes (a number is taken as
a uid, "0" really runs as root). So no name but ours can be expressed here.
"""

from __future__ import annotations

import datetime as dt
import re

from joserfc import jwt
from joserfc.jwk import OctKey

from portal.lib import clock

ACCOUNT = re.compile(r"fh[a-z0-9]{4,28}")
LONGEST = dt.timedelta(minutes=30)
SHORTEST_KEY = 32  # bytes; HS256 asks for as many as its hash has


class AccountRefused(ValueError):
    """The name is not one that Freehold gives to accounts."""


def check_account(account: str) -> str:
    """The name itself. Raises AccountRefused for root, Slurm's own user, numbers and anything not ours."""
    if not isinstance(account, str) or ACCOUNT.fullmatch(account) is None:
        raise AccountRefused(
            "Slurm tokens are made only for accounts named fh and 4 to 28 letters or digits."
        )
    return account


def mint(account: str, key: bytes, *, lifetime: dt.timedelta = dt.timedelta(minutes=5)) -> str:
    """A token of HS256 with `sun`, `iat` and `exp` as whole numbers. Raises ValueError for bad arguments."""
    check_account(account)
    if len(key) < SHORTEST_KEY:
        raise ValueError(f"The key of a Slurm cluster has at least {SHORTEST_KEY} bytes.")
    if not dt.timedelta(seconds=1) <= lifetime <= LONGEST:
        raise ValueError("A Slurm token lives between one second and 30 minutes.")
    now = int(clock.now().timestamp())
    claims = {"sun": account, "iat": now, "exp": now + int(lifetime.total_seconds())}
    return jwt.encode({"alg": "HS256", "typ": "JWT"}, claims, OctKey.import_key(key))
