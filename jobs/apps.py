"""Registers the live kinds of jobs and queues."""

from __future__ import annotations

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Use."""

    name = "jobs"
    verbose_name = "Slurm jobs"
