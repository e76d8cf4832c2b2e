"""Seals secrets at rest. Keys come from FREEHOLD_FERNET_KEYS, newest first; older ones still open."""

from __future__ import annotations

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from portal.lib import env
from portal.lib.errors import PermanentError


@lru_cache(maxsize=1)
def _box() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in env.words("FREEHOLD_FERNET_KEYS")])


def seal(secret: bytes) -> bytes:
    """Encrypt and authenticate (Fernet: AES-128-CBC with HMAC-SHA256)."""
    return _box().encrypt(secret)


def unseal(sealed: bytes) -> bytes:
    """The secret. Raises PermanentError("SealBroken") when no configured key opens it."""
    try:
        return _box().decrypt(bytes(sealed))
    except InvalidToken as error:
        raise PermanentError(
            "SealBroken",
            "A stored secret cannot be opened.",
            hint="Put the key that sealed it back into FREEHOLD_FERNET_KEYS, behind the newest.",
        ) from error
