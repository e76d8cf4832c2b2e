"""The channel layer: channels_redis' by subscription, on connections that survive the loss of Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from channels_redis.pubsub import RedisPubSubChannelLayer
from redis.asyncio.connection import AbstractConnection, Connection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff


class Layer(RedisPubSubChannelLayer):  # type: ignore[misc]  # channels_redis has no types
    """A lost connection is found dead only by who wants to use it: it asks once more on a new one."""

    def __init__(self, *, hosts: Sequence[dict[str, Any]], **options: Any) -> None:
        super().__init__(hosts=[_pool_of(**host) for host in hosts], **options)


class OneMaker(AbstractConnection):
    """A connection that one task makes, while it does not stand for the others.

    The layer listens in one task and subscribes in others. After a loss each would connect by itself;
    redis-py keeps the one that came last, and nobody closes the others.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._making = asyncio.Lock()
        self._maker: asyncio.Task[Any] | None = None

    @property
    def is_connected(self) -> bool:
        """To its maker as soon as it is open, to others when it is subscribed to all that was asked for."""
        return super().is_connected and self._maker in {None, asyncio.current_task()}

    async def connect_check_health(
        self, check_health: bool = True, retry_socket_connect: bool = True
    ) -> None:
        """As redis-py's, by one task at a time. Raises ConnectionError, TimeoutError of redis-py's."""
        task = asyncio.current_task()
        if task is self._maker:  # it subscribes, which is part of the making
            await super().connect_check_health(check_health, retry_socket_connect)
            return
        async with self._making:
            self._maker = task
            try:
                await super().connect_check_health(check_health, retry_socket_connect)
            except BaseException:
                await self.disconnect(nowait=True)  # half made it would look whole
                raise
            finally:
                self._maker = None


def _pool_of(*, address: str, **options: Any) -> dict[str, Any]:
    """What a pool of connections to this address takes."""
    options |= parse_url(address)
    kind = options.get("connection_class", Connection)
    options["connection_class"] = type(f"OneMaker{kind.__name__}", (OneMaker, kind), {})
    return options | {"retry": Retry(NoBackoff(), 1)}
