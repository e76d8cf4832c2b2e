"""A job as last seen."""

from __future__ import annotations

import datetime as dt

from django.db import models
from django.db.models import Value
from django.db.models.functions import Coalesce, NullIf
from django.utils.translation import gettext_lazy as _

from clusters.models import Cluster, SlurmIdentity
from jobs.models.indexes import JOB_INDEXES
from jobs.models.states import ACTIVE_STATES, JobState
from tenants.models import Tenant, User
from tenants.models.people import TenantOwned


class Job(TenantOwned):
    """The last known row of one Slurm job (one array task that started is a job of its own)."""

    # these three begin indexes of several columns, so they need none of their own
    tenant = models.ForeignKey(
        Tenant, verbose_name=_("tenant"), on_delete=models.PROTECT, related_name="+", db_index=False
    )
    cluster = models.ForeignKey(
        Cluster, verbose_name=_("cluster"), on_delete=models.CASCADE, related_name="jobs", db_index=False
    )
    identity = models.ForeignKey(
        SlurmIdentity, verbose_name=_("account"), on_delete=models.PROTECT, null=True, related_name="jobs"
    )
    owner = models.ForeignKey(
        User,
        verbose_name=_("owner"),
        on_delete=models.PROTECT,
        null=True,
        related_name="jobs",
        db_index=False,
    )
    slurm_job_id = models.BigIntegerField(_("Slurm job id"))
    array_job_id = models.BigIntegerField(_("array's id"), null=True, blank=True)
    array_task_id = models.BigIntegerField(_("array task"), null=True, blank=True)
    array_tasks = models.CharField(max_length=200, blank=True, help_text='Of a pending array, e.g. "3-8%2".')
    task_count = models.PositiveIntegerField(default=1, help_text="Tasks that a folded record stands for.")
    het_job_id = models.BigIntegerField(null=True, blank=True)
    het_offset = models.PositiveIntegerField(null=True, blank=True)
    name = models.CharField(_("name"), max_length=1024)
    user_name = models.CharField(_("account in the cluster"), max_length=64, blank=True)
    partition = models.CharField(_("partition"), max_length=200, blank=True)
    account = models.CharField(max_length=200, blank=True)
    qos = models.CharField(max_length=200, blank=True)
    state = models.CharField(_("state"), max_length=20, choices=JobState)
    flags = models.JSONField(_("flags"), default=list, help_text=_("Slurm's state flags."))
    reason = models.CharField(
        _("reason"), max_length=200, blank=True, help_text=_("Slurm's word for why it waits or ended.")
    )
    nodes = models.TextField(_("nodes"), blank=True)
    node_count = models.PositiveIntegerField(_("number of nodes"), null=True)
    cpus = models.PositiveIntegerField(_("CPUs"), null=True)
    gpus = models.PositiveIntegerField(_("GPUs"), null=True)
    memory_mib = models.PositiveBigIntegerField(
        _("memory (MiB)"), null=True, help_text=_("Per node; 0 is all of the node.")
    )
    memory_per_cpu_mib = models.PositiveBigIntegerField(null=True)
    time_limit_minutes = models.PositiveBigIntegerField(
        _("time limit (minutes)"), null=True, help_text=_("Null: unlimited or not told.")
    )
    exit_status = models.IntegerField(_("exit code"), null=True)
    exit_signal = models.IntegerField(_("signal"), null=True)
    submit_time = models.DateTimeField(_("submitted"))
    eligible_time = models.DateTimeField(_("eligible"), null=True)
    start_time = models.DateTimeField(_("started"), null=True, help_text=_("Of a pending job: the estimate."))
    end_time = models.DateTimeField(_("ended"), null=True)
    working_directory = models.TextField(blank=True)
    stdout_path = models.TextField(blank=True, help_text="Expanded.")
    stderr_path = models.TextField(blank=True, help_text="Expanded; blank: same as output.")
    comment = models.TextField(blank=True, help_text="Without our mark.")
    mark = models.CharField(_("mark"), max_length=12, blank=True)
    restarts = models.PositiveIntegerField(_("restarts"), default=0)
    # lists show an array and a het job as one line (jobs.observer.lines)
    is_line = models.BooleanField(
        default=True, help_text="False: stands behind the line of its array or set."
    )
    group_state = models.CharField(max_length=20, blank=True, help_text="Of a line: its most telling state.")
    group_states = models.JSONField(null=True, help_text="Of a line: how many tasks or parts in each state.")
    line_state = models.GeneratedField(
        expression=Coalesce(NullIf("group_state", Value("")), "state"),
        output_field=models.CharField(max_length=20),
        db_persist=True,
    )
    first_seen_at = models.DateTimeField(auto_now_add=True)
    observed_at = models.DateTimeField(_("last seen"))

    class Meta:
        verbose_name, verbose_name_plural = _("job"), _("jobs")
        constraints = [
            # an id is used again after years or a new slurmctld; the submit time tells them apart
            models.UniqueConstraint("cluster", "slurm_job_id", "submit_time", name="one_row_per_job")
        ]
        indexes = JOB_INDEXES

    def __str__(self) -> str:
        return f"{self.name} ({self.label})"

    @property
    def label(self) -> str:
        """The id as Slurm's tools print it: 12, 12_3 or 12_[4-8%2]."""
        if self.array_job_id and self.array_task_id is not None:
            return f"{self.array_job_id}_{self.array_task_id}"
        if self.array_job_id and self.array_tasks:
            return f"{self.array_job_id}_[{self.array_tasks}]"
        if self.het_job_id:
            return f"{self.het_job_id}+{self.het_offset or 0}"
        return str(self.slurm_job_id)

    @property
    def group_id(self) -> int | None:
        """The id that it shares with the other tasks of its array or parts of its set."""
        return self.array_job_id or self.het_job_id

    @property
    def line_label(self) -> str:
        """The id of what its line stands for: a whole array or set, or this job."""
        return str(self.group_id) if self.group_states else self.label

    @property
    def task_total(self) -> int:
        """Of a line: how many tasks or parts it stands for."""
        return sum((self.group_states or {}).values()) or self.task_count

    @property
    def is_open(self) -> bool:
        """Something that its line stands for can still be acted on."""
        return self.line_state in ACTIVE_STATES and self.line_state != "COMPLETING"

    @property
    def is_active(self) -> bool:
        """Not ended."""
        return self.state in ACTIVE_STATES

    @property
    def ran(self) -> dt.timedelta | None:
        """How long it ran; None before the start and where the end is not known."""
        if self.start_time is None or self.end_time is None or self.is_active:
            return None
        return max(self.end_time - self.start_time, dt.timedelta())

    @property
    def time_limit(self) -> dt.timedelta | None:
        """The limit as a length of time."""
        return None if self.time_limit_minutes is None else dt.timedelta(minutes=self.time_limit_minutes)

    @property
    def is_folded(self) -> bool:
        """Stands for the tasks of an array that have not started."""
        return self.array_job_id is not None and self.array_task_id is None
