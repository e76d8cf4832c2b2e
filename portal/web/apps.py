"""The project's own app: error pages, home, sockets, the operators' site."""

from __future__ import annotations

from django.apps import AppConfig


class WebConfig(AppConfig):
    """What joins the apps."""

    name = "portal.web"
    label = "web"
