"""Addresses of the pages of a tenant that join what several apps know."""

from __future__ import annotations

from django.urls import URLPattern, path

from portal.web import overview, search

urlpatterns: list[URLPattern] = [
    path("", overview.overview, name="overview"),
    path("search/", search.search, name="search"),
]
