"""The addresses of WebSockets."""

from __future__ import annotations

from django.urls import URLPattern, path

from tenants.live.consumer import LiveConsumer

urlpatterns: list[URLPattern] = [path("ws/t/<slug:tenant>/", LiveConsumer.as_asgi())]
