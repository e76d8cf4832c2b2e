"""Home and health."""

from __future__ import annotations

from django.urls import path

from portal.web import views

urlpatterns = [
    path("", views.home, name="home"),
    path("health/", views.health, name="health"),
]
