"""The address of a mail server as one text, and texts made fit for the head of a mail."""

from __future__ import annotations

import unicodedata
from urllib.parse import unquote, urlsplit

from portal.lib.env import MissingSetting
from portal.lib.types import JSONDict

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
LONGEST_SUBJECT = 200
PORTS = {"smtp": 587, "smtps": 465, "smtp+plain": 25}


def mail_settings(url: str) -> JSONDict:
    """host, port, user, password, ssl and starttls of an EMAIL_URL; empty for none: mails are stored only.

    smtp://user:password@host:587 uses STARTTLS, smtps://host:465 TLS from the start, both verified;
    smtp+plain://localhost:25 is for a relay on this machine. Raises MissingSetting for anything else.
    """
    if not url:
        return {}
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise MissingSetting("EMAIL_URL is no address, such as smtp://user:password@host:587.") from error
    if parts.scheme not in PORTS or not parts.hostname:
        raise MissingSetting("EMAIL_URL begins with smtp://, smtps:// or smtp+plain:// and names a host.")
    if parts.scheme == "smtp+plain" and parts.hostname not in LOOPBACK:
        raise MissingSetting(
            "EMAIL_URL: smtp+plain:// is for a relay on this machine; use smtp:// or smtps://."
        )
    return {
        "host": parts.hostname,
        "port": port or PORTS[parts.scheme],
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "ssl": parts.scheme == "smtps",
        "starttls": parts.scheme == "smtp",
    }


def one_line(text: str, *, longest: int = LONGEST_SUBJECT) -> str:
    """The text as one line of a head: whatever breaks lines, steers the direction or is unseen is a space."""
    plain = "".join(letter if _is_seen(letter) else " " for letter in text)
    line = " ".join(plain.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _is_seen(letter: str) -> bool:
    return letter in _JOINERS or unicodedata.category(letter) not in _UNSEEN


# control, format, private use, surrogate, line and paragraph separators; scripts and emoji need the joiners
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_JOINERS = frozenset({"\N{ZERO WIDTH JOINER}", "\N{ZERO WIDTH NON-JOINER}"})
