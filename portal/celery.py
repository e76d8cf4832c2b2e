"""The Celery application: `celery -A portal worker`."""

from __future__ import annotations

import os
import signal

from celery import Celery
from celery.signals import worker_process_init

from portal.lib import processes

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("freehold")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def _end_with_the_worker(**_: object) -> None:
    """A task whose worker was killed ends too; it must not go on beside the one that takes its place."""
    processes.die_with_parent(signal.SIGKILL)


worker_process_init.connect(_end_with_the_worker)
