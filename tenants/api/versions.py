"""ETags of single things: from the versions of their live topics and the row itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.actor import Actor
from tenants.live.topics import Topic, versions_of


def versioned(
    request: Request,
    actor: Actor,
    row: models.Model,
    *topics: Topic,
    answer: Callable[[], Mapping[str, Any]],
    also: object = None,
) -> Response:
    """304 if the caller has this version, else the answer, which is made only then.

    The topics tell of changes in rows below; the row tells its own, also those that no topic is told of. Role
    and token are part of it, because they decide what is shown; `also` is what else the answer depends on.
    """
    etag = etag_of(actor, row, *topics, also=also)
    asked = request.headers.get("If-None-Match", "")
    known = {text.strip().removeprefix("W/") for text in asked.split(",")}
    response = Response(status=304) if known & {etag, "*"} else Response(answer())
    response["ETag"] = etag
    return response


def etag_of(actor: Actor, row: models.Model, *topics: Topic, also: object = None) -> str:
    """A strong validator of 128 bits."""
    meta = row._meta  # noqa: SLF001  # the documented way to the columns
    facts = {
        "row": [
            str(meta),
            {field.attname: _plain(getattr(row, field.attname)) for field in meta.concrete_fields},
        ],
        "topics": sorted(versions_of(topics).items()),
        "also": str(also),
        "role": actor.role,
        "token": str(actor.grant.token_id) if actor.grant else None,
    }
    text = json.dumps(facts, sort_keys=True, cls=DjangoJSONEncoder)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes | memoryview) else value
