"""The Celery application: `celery -A portal worker`."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("freehold")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
