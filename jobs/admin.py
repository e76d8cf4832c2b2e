"""Jobs and submits as operators see them: to look at, never to change."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from jobs.models import Job, Submission, SubmissionState
from tenants.operations import OperationsAdmin, badge, operations


@admin.register(Job, site=operations)
class JobAdmin(OperationsAdmin):
    """Last known rows over all tenants; scripts and output stay with the tenant."""

    list_display = (
        "name",
        "slurm_job_id",
        "state_badge",
        "reason",
        "tenant",
        "cluster",
        "owner",
        "submit_time",
    )
    list_filter = ("state", "tenant", "cluster")
    search_fields = ("name", "user_name", "=slurm_job_id", "=array_job_id", "tenant__slug")
    search_help_text = _("Name, account, Slurm's id, tenant")
    list_select_related = ("tenant", "cluster", "owner")
    ordering = ("-submit_time",)
    fields = (
        ("name", "slurm_job_id", "array_job_id", "array_task_id"),
        ("tenant", "cluster", "owner", "user_name"),
        ("state", "reason", "flags"),
        ("partition", "nodes", "node_count", "cpus", "gpus", "memory_mib", "time_limit_minutes"),
        ("submit_time", "eligible_time", "start_time", "end_time", "observed_at"),
        ("exit_status", "exit_signal", "restarts", "mark"),
    )

    @admin.display(description=_("State"), ordering="state")
    def state_badge(self, row: Job) -> str:
        """As on the pages of tenants."""
        return badge(row.state, row.get_state_display())


@admin.register(Submission, site=operations)
class SubmissionAdmin(OperationsAdmin):
    """Presses of Submit; neither scripts nor environment values are shown."""

    list_display = (
        "mark",
        "state_badge",
        "tenant",
        "cluster",
        "user",
        "slurm_job_id",
        "created_at",
        "answered_at",
    )
    list_filter = ("state", "tenant", "cluster")
    search_fields = ("mark", "=slurm_job_id", "tenant__slug")
    search_help_text = _("Mark, Slurm's id, tenant")
    list_select_related = ("tenant", "cluster", "user")
    ordering = ("-created_at",)
    fields = (
        ("mark", "state", "message"),
        ("tenant", "cluster", "user", "identity"),
        ("slurm_job_id", "job"),
        ("created_at", "sent_at", "answered_at"),
    )

    @admin.display(description=_("State"), ordering="state")
    def state_badge(self, row: Submission) -> str:
        """As on the pages of tenants."""
        look = "attention" if row.state == SubmissionState.ABSENT else row.state
        return badge(look, row.get_state_display())
