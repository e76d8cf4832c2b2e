"""`manage.py observe`: looks at running clusters until it is told to end."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.observer.loop import THREADS, Observer


class Command(BaseCommand):
    """Run one observer; several share the clusters by leases."""

    help = "Look at running clusters and keep what is seen, until SIGTERM or SIGINT."

    def add_arguments(self, parser: CommandParser) -> None:
        """How many clusters are looked at side by side."""
        parser.add_argument("--threads", type=int, default=THREADS)

    def handle(self, *_args: Any, threads: int, **_options: Any) -> None:
        """Run until a signal comes."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        Observer(threads=threads).run(stop)
