"""A browser's end of a WebSocket for tests (channels.testing would bring a second server along)."""

from __future__ import annotations

from typing import Any

from asgiref import testing

ApplicationCommunicator: Any = testing.ApplicationCommunicator  # has no types

ANSWER = 5.0  # seconds in which an answer must come


class Socket(ApplicationCommunicator):  # type: ignore[misc]
    """Speaks the ASGI websocket protocol with an application."""

    def __init__(self, application: Any, url: str, headers: list[tuple[bytes, bytes]]) -> None:
        path, _, query = url.partition("?")
        scope = {
            "type": "websocket",
            "path": path,
            "query_string": query.encode(),
            "headers": headers,
            "subprotocols": [],
        }
        super().__init__(application, scope)

    async def connect(self) -> bool:
        """True when the server accepts, False when it refuses the handshake."""
        await self.send_input({"type": "websocket.connect"})
        answer = await self.receive_output(ANSWER)
        return bool(answer["type"] == "websocket.accept")

    async def receive_text(self) -> str:
        """The next message."""
        answer = await self.receive_output(ANSWER)
        assert answer["type"] == "websocket.send", answer
        return str(answer["text"])

    async def receive_close(self) -> int:
        """The code with which the server closes; nothing else may come before."""
        answer = await self.receive_output(ANSWER)
        assert answer["type"] == "websocket.close", answer
        return int(answer["code"])

    async def is_quiet(self, seconds: float) -> bool:
        """Nothing comes for this long."""
        return bool(await self.receive_nothing(timeout=seconds))

    async def send_text(self, text: str) -> None:
        """Say something."""
        await self.send_input({"type": "websocket.receive", "text": text})

    async def disconnect(self, code: int = 1001) -> None:
        """Go away, and wait until the application has noticed."""
        await self.send_input({"type": "websocket.disconnect", "code": code})
        await self.wait(timeout=ANSWER)
