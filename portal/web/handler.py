"""Django behind ASGI, with the work of a request in one thread that is kept for the next one.

Django's own handler goes back to the event loop between middleware and view, and makes two threads, a wrapper
and a connection's state for every request: a millisecond of each page.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class Handler(ASGIHandler):
    """For middleware and views that are all synchronous; what streams may be asynchronous."""

    def __init__(self) -> None:
        super().__init__()
        self._idle: deque[Executor] = deque()  # of one thread each; as many as there were requests at once

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002  # the signature is Django's
        """As under WSGI."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Middleware and view, one after the other."""
        return await sync_to_async(self.get_response)(request)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """In a thread that has nothing to do, or a new one. It ends after what the thread does."""
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="request")
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self.handle(scope, receive, send)
        finally:
            self._idle.append(thread)
