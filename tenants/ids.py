"""Names derived from our ids, so that a create that crashed half-way is found, not repeated."""

from __future__ import annotations

import base64
import hashlib
import uuid


def short_name(key: uuid.UUID, *, length: int = 12) -> str:
    """Lower-case base32 characters (a-z, 2-7) of a UUID's hash; 12 of them are 60 bits."""
    digest = hashlib.sha256(key.bytes).digest()
    return base64.b32encode(digest).decode("ascii").lower()[:length]
