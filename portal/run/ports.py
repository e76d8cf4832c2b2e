"""Chooses loopback ports once and keeps them: people are known by issuer, and an issuer has a port."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass

from portal.run.layout import CannotRun, Layout, write_private

FIRST = {"web": 8000, "oidc": 8400}
TRIES = 200
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """One TCP port for each part that listens; nothing else does."""

    web: int
    oidc: int


def choose(layout: Layout) -> Ports:
    """FREEHOLD_WEB_PORT and FREEHOLD_OIDC_PORT first, then last time's, then the first free one."""
    note = layout.supervisor / "ports.json"
    last: dict[str, int] = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    web = _asked("web") or _again(last.get("web"), "web")
    oidc = _asked("oidc") or _same(last.get("oidc")) or _free("oidc", without=web)
    write_private(note, json.dumps({"web": web, "oidc": oidc}))
    return Ports(web=web, oidc=oidc)


def is_free(port: int) -> bool:
    """True when nothing listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _asked(part: str) -> int | None:
    name = f"FREEHOLD_{part.upper()}_PORT"
    value = os.environ.get(name)
    if not value:
        return None
    if not value.isdecimal() or not 1 <= int(value) <= 65535:
        raise CannotRun(f"{name} must be a port from 1 to 65535, not {value!r}.")
    if not is_free(int(value)):
        raise CannotRun(f"Port {value} is in use. Choose another by {name}.")
    return int(value)


def _again(port: int | None, part: str) -> int:
    return port if port and is_free(port) else _free(part)


def _same(port: int | None) -> int | None:
    if port and not is_free(port):
        raise CannotRun(
            f"Port {port} of the demo's OpenID provider is in use by another program, and the people of this "
            "data folder are known by that address. Free the port, or set FREEHOLD_OIDC_PORT and everyone "
            "starts anew."
        )
    return port


def _free(part: str, *, without: int = 0) -> int:
    for port in range(FIRST[part], FIRST[part] + TRIES):
        if port != without and is_free(port):
            return port
    raise CannotRun(f"No free port from {FIRST[part]} on. Set FREEHOLD_{part.upper()}_PORT.")
