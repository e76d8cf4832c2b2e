"""The Celery application: `celery -A portal worker`."""

from __future__ import annotations

import os
import signal

from celery import Celery
from celery.signals import task_prerun, worker_process_init
from django.conf import settings
from django.utils import translation

from portal.lib import processes

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("freehold")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def _end_with_the_worker(**_: object) -> None:
    """A task whose worker was killed ends too; it must not go on beside the one that takes its place."""
    processes.die_with_parent(signal.SIGKILL)


def _speak_one_language(**_: object) -> None:
    """What a task writes down is in one language; only mails are in their readers' (see the outbox)."""
    translation.activate(settings.LANGUAGE_CODE)


task_prerun.connect(_speak_one_language)
worker_process_init.connect(_end_with_the_worker)
