"""Addresses of the pages that join the apps, for the generated stranger test."""

from __future__ import annotations

from tests.architecture.routes import Route

ROUTES: dict[str, Route] = {
    "overview": Route(),
    "search": Route(data=lambda world: {"q": "gpu"}),
}
