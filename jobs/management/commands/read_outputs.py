"""Serves output files of jobs on a Unix socket; runs as root and becomes the job's user to read."""

from __future__ import annotations

import os
import pwd
import signal
from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections

from jobs.models import Job
from jobs.output_reader.protocol import Request, Target
from jobs.output_reader.server import OutputReader


def find_target(request: Request) -> Target | None:
    """Path and account of a job's stream, from its row only. None for a job without an account of ours."""
    job = Job.objects.select_related("identity").filter(pk=request.job).first()
    if job is None or job.identity is None:
        return None
    return Target(
        path=job.stdout_path if request.stream == "stdout" else job.stderr_path,
        account=job.identity.name,
        uid=job.identity.uid,
        gid=job.identity.gid,
    )


def _with_living_connection(request: Request) -> Target | None:
    close_old_connections()  # no request of Django's does it here; the database may have been restarted
    return find_target(request)


class Command(BaseCommand):
    """Root only; everybody but root and the portal's user is turned away."""

    help = "Serve jobs' output files on a Unix socket, each read as the job's own user."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Both have defaults."""
        parser.add_argument(
            "socket", nargs="?", default=str(settings.OUTPUT_SOCKET), help="Path of the socket."
        )
        parser.add_argument("--portal-user", default="freehold", help="Who may ask, beside root.")

    def handle(self, *_args: object, **options: object) -> None:
        """Serve until SIGTERM or SIGINT."""
        if os.geteuid() != 0:
            raise CommandError("Run this as root: it has to become the user of each job.")
        user = str(options["portal_user"])
        try:
            pwd.getpwnam(user)
        except KeyError as error:
            raise CommandError(
                f"There is no user {user}. Make it, or name another by --portal-user."
            ) from error
        reader = OutputReader(Path(str(options["socket"])), _with_living_connection, portal_user=user)

        def stop(*_: object) -> None:
            reader.stop()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        reader.serve()
