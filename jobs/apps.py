"""Registers the live kinds of jobs and queues."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class JobsConfig(AppConfig):
    """Use."""

    name = "jobs"
    verbose_name = _("Slurm jobs")

    def ready(self) -> None:
        """Tell the live pages what there is to show."""
        from clusters.provisioning import limits  # noqa: PLC0415
        from jobs.limits import service as limits_service  # noqa: PLC0415
        from jobs.services import leavers  # noqa: PLC0415
        from jobs.web import regions  # noqa: PLC0415  # models exist only now
        from tenants import audit, hooks  # noqa: PLC0415

        regions.register_all()
        hooks.membership_changed.append(leavers.membership_changed)
        limits.wanted.append(limits_service.are_wanted)
        audit.register_verbs(
            {
                "job.submitted": _("submitted a job:"),
                "job.accepted": _("got a job accepted:"),
                "job.refused": _("got a job refused:"),
                "job.unclear": _("lost the answer to a submit:"),
                "job.sent_again": _("sent a job again:"),
                "job.cancelled": _("cancelled the job"),
                "job.signalled": _("sent a signal to the job"),
                "job.held": _("held the job"),
                "job.released": _("released the job"),
                "job.changed": _("changed the job"),
                "job.requeued": _("requeued the job"),
                "job.suspended": _("suspended the job"),
                "job.resumed": _("resumed the job"),
                "job.put_first": _("put first the job"),
                "notifications.changed": _("changed what to be told of:"),
                "template.created": _("made the template"),
                "template.changed": _("changed the template"),
                "template.deleted": _("deleted the template"),
                "limits.changed": _("changed the limits of"),
                "view.saved": _("saved the view"),
                "view.renamed": _("renamed the view"),
                "view.deleted": _("deleted the view"),
            },
            areas={
                "job": _("jobs"),
                "notifications": _("notifications"),
                "template": _("templates"),
                "view": _("saved views"),
                "limits": _("limits"),
            },
        )
