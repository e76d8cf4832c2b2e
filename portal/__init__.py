"""The project shell: settings, URLs, processes. Domain code lives in tenants, clusters and jobs."""

from __future__ import annotations

from portal.celery import app as celery_app

__all__ = ["celery_app"]
