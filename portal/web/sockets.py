"""The addresses of WebSockets."""

from __future__ import annotations

from django.urls import URLPattern, path

from jobs.web.tail import TailConsumer
from tenants.live.consumer import LiveConsumer

urlpatterns: list[URLPattern] = [
    path("ws/t/<slug:tenant>/", LiveConsumer.as_asgi(), name="live-socket"),
    path("ws/t/<slug:tenant>/jobs/<uuid:pk>/output/", TailConsumer.as_asgi(), name="job-tail"),
]
