"""Requests have a thread each, which the next one takes over when it is free."""

from __future__ import annotations

import asyncio
import threading

import pytest
from django.http import HttpRequest, HttpResponse

from portal.web.handler import Handler
from tests.sockets import ApplicationCommunicator

SCOPE = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}


class Held:
    """Answers with the number of its thread, as soon as it may."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.begun = threading.Semaphore(0)

    def answer(self, request: HttpRequest) -> HttpResponse:
        self.begun.release()
        assert self.may_go_on.wait(30)
        return HttpResponse(str(threading.get_ident()))

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.acquire, timeout=30)


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def handler(held: Held, monkeypatch: pytest.MonkeyPatch) -> Handler:
    handler = Handler()
    monkeypatch.setattr(handler, "get_response", held.answer)
    return handler


async def ask(handler: Handler) -> ApplicationCommunicator:
    asked = ApplicationCommunicator(handler, SCOPE)
    await asked.send_input({"type": "http.request", "body": b""})
    return asked


async def thread_of(asked: ApplicationCommunicator) -> bytes:
    assert (await asked.receive_output(30))["status"] == 200
    thread: bytes = (await asked.receive_output(30))["body"]
    await asked.wait(30)
    return thread


async def test_requests_at_once_have_threads_of_their_own_and_later_ones_take_them(
    handler: Handler, held: Held
) -> None:
    first, second = await ask(handler), await ask(handler)
    await held.has_begun()
    await held.has_begun()
    held.may_go_on.set()
    threads = {await thread_of(first), await thread_of(second)}
    assert len(threads) == 2
    assert await thread_of(await ask(handler)) in threads


async def test_the_thread_of_a_client_that_went_away_is_not_lent_before_it_is_free(
    handler: Handler, held: Held
) -> None:
    gone = await ask(handler)
    await held.has_begun()
    await gone.send_input({"type": "http.disconnect"})
    other = await ask(handler)
    await held.has_begun()  # it would wait for ever behind the first
    held.may_go_on.set()
    assert await thread_of(other)
    await gone.wait(30)
    assert gone.output_queue.empty()
