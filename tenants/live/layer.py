"""The channel layer: channels_redis' by subscription; the first socket after a restart of Redis works."""

from __future__ import annotations

from channels_redis.pubsub import RedisPubSubChannelLayer
from redis.exceptions import ConnectionError as ConnectionLost


class Layer(RedisPubSubChannelLayer):  # type: ignore[misc]  # channels_redis has no types
    """A connection on which nobody listened is found dead only by the next one who wants to."""

    async def new_channel(self, prefix: str = "specific.") -> str:
        """As the layer's; once more where the connection turned out to be lost."""
        layer = self._get_layer()
        try:
            name: str = await layer.new_channel(prefix)
        except ConnectionLost:
            name = await layer.new_channel(prefix)
        return name
