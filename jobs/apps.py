"""Registers the live kinds of jobs and queues."""

from __future__ import annotations

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Use."""

    name = "jobs"
    verbose_name = "Slurm jobs"

    def ready(self) -> None:
        """Tell the live pages what there is to show."""
        from jobs.web import regions  # noqa: PLC0415  # models exist only now

        regions.register_all()
