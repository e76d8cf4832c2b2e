"""Addresses of the tenants pages."""

from __future__ import annotations

from django.urls import URLPattern, path

from tenants.views import live

urlpatterns: list[URLPattern] = [
    path("t/<slug:tenant>/live/<str:kind>/<uuid:pk>/", live.live, name="live"),
]
