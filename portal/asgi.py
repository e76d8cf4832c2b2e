"""HTTP by Django, WebSockets by Channels; only named origins may open a socket."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django_application = get_asgi_application()

# Models may be imported only after Django is set up, which the line above does.
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import OriginValidator  # noqa: E402
from channels.sessions import SessionMiddlewareStack  # noqa: E402
from django.conf import settings  # noqa: E402

from portal.web.sockets import urlpatterns as socket_urls  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": django_application,
        "websocket": OriginValidator(SessionMiddlewareStack(URLRouter(socket_urls)), settings.SOCKET_ORIGINS),
    }
)
