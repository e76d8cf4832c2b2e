"""Home, health and the style guide."""

from __future__ import annotations

from django.urls import include, path

from portal.web import languages, views

urlpatterns = [
    path("", views.home, name="home"),
    path("health/", views.health, name="health"),
    path("language/", languages.choose, name="language"),
    path("styleguide/", include("portal.web.styleguide")),
]
