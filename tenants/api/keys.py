"""Idempotency-Key: the same key with the same request gives the same answer, however often it is sent."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from rest_framework.request import Request

from portal.lib.errors import BadInput, FreeholdError
from portal.lib.types import Words
from tenants.actor import Actor
from tenants.services import request_keys

HEADER = "Idempotency-Key"
_PRINTABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?")


class KeyReused(BadInput):
    """The key was sent before, with something else."""

    status = 422
    title: Words = "This Idempotency-Key was used for another request"


def key_of(request: Request, actor: Actor) -> uuid.UUID:
    """The key as a UUID: itself if it is one, else derived from the person and the text. Raises BadInput."""
    text = request.headers.get(HEADER, "").strip()
    try:
        return uuid.UUID(text)
    except ValueError:
        pass
    if _PRINTABLE.fullmatch(text) is None:
        raise BadInput(
            f"Send the header {HEADER}: a UUID, or 1 to 64 printable ASCII characters.",
            hint="Choose a new one for each thing you want once, and send it again when an answer is lost.",
            fields={HEADER: "A UUID, or 1 to 64 printable ASCII characters."},
        )
    assert actor.user is not None  # noqa: S101  # an actor of the API is a person
    return uuid.uuid5(actor.user.pk, text)


@contextmanager
def once(request: Request, actor: Actor) -> Iterator[uuid.UUID]:
    """The key, bound to this request's address and body. Raises KeyReused if it was to another.

    An error of ours sets the key free again, so that a mended request may use it.
    """
    key = key_of(request, actor)
    asked = json.dumps([request.path, request.data], sort_keys=True)
    fingerprint = hashlib.sha256(asked.encode()).hexdigest()
    if not request_keys.claim(actor=actor, key=key, fingerprint=fingerprint):
        raise KeyReused(hint="Choose a new key, or send exactly what you sent with this one.")
    try:
        yield key
    except FreeholdError:
        request_keys.release(actor=actor, key=key)
        raise
