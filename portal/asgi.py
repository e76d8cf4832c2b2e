"""HTTP by Django, WebSockets by Channels; only named origins may open a socket."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup(set_prefix=False)

# Models may be imported only after Django is set up, which the line above does.
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import OriginValidator  # noqa: E402
from channels.sessions import SessionMiddlewareStack  # noqa: E402
from django.conf import settings  # noqa: E402

from portal.web.handler import Handler  # noqa: E402
from portal.web.sockets import urlpatterns as socket_urls  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": Handler(),
        "websocket": OriginValidator(SessionMiddlewareStack(URLRouter(socket_urls)), settings.SOCKET_ORIGINS),
    }
)
