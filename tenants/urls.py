"""Addresses of the tenants pages."""

from __future__ import annotations

from django.urls import URLPattern, path

from tenants.views import live, signin

urlpatterns: list[URLPattern] = [
    path("signin/", signin.signin, name="signin"),
    path("signin/callback/", signin.callback, name="callback"),
    path("signout/", signin.signout, name="signout"),
    path("t/<slug:tenant>/live/<str:kind>/<uuid:pk>/", live.live, name="live"),
]
