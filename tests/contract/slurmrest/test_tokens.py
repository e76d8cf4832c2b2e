"""Whom a token can be made for, and for how long."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from clusters.clients.slurmrest import tokens
from clusters.clients.slurmrest.client import RestGateway

KEY = bytes(range(32))
ACCOUNT = "fhk3m4x2p7"


def test_a_token_says_who_and_how_long_in_whole_numbers() -> None:
    token = tokens.mint(ACCOUNT, KEY)
    decoded = jwt.decode(token, OctKey.import_key(KEY), algorithms=["HS256"])
    assert decoded.header["alg"] == "HS256"
    claims = json.loads(json.dumps(decoded.claims))
    assert claims["sun"] == ACCOUNT
    assert type(claims["exp"]) is int
    assert claims["exp"] - claims["iat"] == 300
    assert set(claims) == {"sun", "iat", "exp"}


@pytest.mark.parametrize(
    "account",
    [
        *("0", "root", "slurm", "1001", "", "nobody"),
        *("fh", "fhabc", "FHabcd1", "fhabcd1\n", " fhabcd1", "fhabcd-1", "fhabcd1,root"),
        *("fh" + "a" * 29, "fhäbcd1", "fh٣٣٣٣", None, 1001, b"fhabcd1"),
    ],
)
def test_no_token_for_anyone_else(account: str) -> None:
    assert tokens.mint(ACCOUNT, KEY)
    with pytest.raises(tokens.AccountRefused):
        tokens.mint(account, KEY)
    with pytest.raises(tokens.AccountRefused):
        RestGateway("http://127.0.0.1:1", "v0.0.38", account, lambda: "")


@pytest.mark.parametrize("account", ["fhabcd", "fh" + "z" * 28])
def test_the_shortest_and_the_longest_account(account: str) -> None:
    assert tokens.mint(account, KEY)


@pytest.mark.parametrize("seconds", [0, -60, 1801, 86400])
def test_tokens_are_minutes_long(seconds: int) -> None:
    assert tokens.mint(ACCOUNT, KEY, lifetime=dt.timedelta(minutes=30))
    with pytest.raises(ValueError):
        tokens.mint(ACCOUNT, KEY, lifetime=dt.timedelta(seconds=seconds))


def test_a_weak_key_is_refused() -> None:
    with pytest.raises(ValueError):
        tokens.mint(ACCOUNT, b"short")
