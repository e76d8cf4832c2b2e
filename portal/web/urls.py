"""Home, health and the style guide."""

from __future__ import annotations

from django.urls import include, path

from portal.web import views

urlpatterns = [
    path("", views.home, name="home"),
    path("health/", views.health, name="health"),
    path("styleguide/", include("portal.web.styleguide")),
]
