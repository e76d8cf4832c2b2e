"""Reads JSON bodies: UTF-8, at most 4 MiB, and nothing that makes the reader fail in an odd way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import IO, Any, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from tenants.api.problems import TooLarge

LARGEST = 4 * 1024 * 1024  # bytes: a script of 1 MiB whose every character is escaped, and an environment


class JsonParser(BaseParser):
    """JSON as RFC 8259 says; the framework's own reads a body of any size."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,  # noqa: ARG002  # the signature is the framework's
        parser_context: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Any:
        """The value. Raises TooLarge (413) or ParseError (400)."""
        body = stream.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise TooLarge
        try:
            return json.loads(body.decode("utf-8"), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise ParseError("The body is not JSON in UTF-8.") from error


class JsonOnly(BaseContentNegotiation):
    """There is one format, whatever Accept says."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """The parser of the body's media type; None is 415."""
        sent = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == sent), None)

    def select_renderer(
        self,
        request: Request,  # noqa: ARG002  # the signature is the framework's
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002
    ) -> tuple[BaseRenderer, str]:
        """JSON."""
        found = next(iter(renderers))
        return found, str(found.media_type)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
