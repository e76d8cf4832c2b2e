"""One readable line per event; the standard library's records go the same way."""

from __future__ import annotations

import logging
import sys

import structlog

from portal.lib.types import JSONDict

_SECRET = ("token", "secret", "password", "authorization", "cookie", "key")


def _hide_secrets(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    for name in event:
        if any(word in name.lower() for word in _SECRET):
            event[name] = "[hidden]"
    return event


def configure(settings: JSONDict) -> None:
    """Called by Django's set-up with settings.LOGGING."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _hide_secrets,
        structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings["level"])
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    # a scan of what is due runs every two seconds; its start and end are no news
    for name in ("celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(name).setLevel(logging.WARNING)
