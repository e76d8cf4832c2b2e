"""The project's own app: error pages, home, sockets, the operators' site."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class WebConfig(AppConfig):
    """What joins the apps."""

    name = "portal.web"
    label = "web"

    def ready(self) -> None:
        """Let each app's `admin.py` register with the operators' site."""
        autodiscover_modules("admin")
