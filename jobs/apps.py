"""Registers the live kinds of jobs and queues."""

from __future__ import annotations

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Use."""

    name = "jobs"
    verbose_name = "Slurm jobs"

    def ready(self) -> None:
        """Tell the live pages what there is to show."""
        from jobs.services import leavers  # noqa: PLC0415
        from jobs.web import regions  # noqa: PLC0415  # models exist only now
        from tenants import audit, hooks  # noqa: PLC0415

        regions.register_all()
        hooks.membership_changed.append(leavers.membership_changed)
        audit.register_verbs(
            {
                "job.submitted": "submitted a job:",
                "job.accepted": "got a job accepted:",
                "job.refused": "got a job refused:",
                "job.unclear": "lost the answer to a submit:",
                "job.sent_again": "sent a job again:",
                "job.cancelled": "cancelled the job",
            }
        )
