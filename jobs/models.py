"""Jobs as last seen, what changed, and what was sent."""

from __future__ import annotations

import datetime as dt
import uuid

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Left, NullIf
from django.utils.translation import gettext_lazy as _

from clusters.models import Cluster, SlurmIdentity
from tenants.models import User
from tenants.models.people import TenantOwned
from tenants.scoping import TenantQuerySet


class JobState(models.TextChoices):
    """Slurm's base states, and ours for jobs of which no result is known."""

    PENDING = "PENDING", _("Pending")
    RUNNING = "RUNNING", _("Running")
    SUSPENDED = "SUSPENDED", _("Suspended")
    COMPLETING = "COMPLETING", _("Completing")
    COMPLETED = "COMPLETED", _("Completed")
    CANCELLED = "CANCELLED", _("Cancelled")
    FAILED = "FAILED", _("Failed")
    TIMEOUT = "TIMEOUT", _("Time limit reached")
    NODE_FAIL = "NODE_FAIL", _("Node failed")
    PREEMPTED = "PREEMPTED", _("Preempted")
    BOOT_FAIL = "BOOT_FAIL", _("Boot failed")
    DEADLINE = "DEADLINE", _("Deadline reached")
    OUT_OF_MEMORY = "OUT_OF_MEMORY", _("Out of memory")
    ENDED = "ENDED", _("Ended, result not known")


ACTIVE_STATES = ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING")
ENDED_STATES = tuple(state.value for state in JobState if state.value not in ACTIVE_STATES)
# Of several tasks the most telling state: what is at work, what waits, then how they ended, the worst first.
TELLING_ORDER = (
    *("RUNNING", "COMPLETING", "SUSPENDED", "PENDING", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "FAILED"),
    *("TIMEOUT", "DEADLINE", "PREEMPTED", "CANCELLED", "ENDED", "COMPLETED"),
)
NAME_SORTED = 64  # characters by which lists are sorted: an index holds no more than 2,704 bytes of a row
_ACTIVE_LINE = Q(is_line=True, line_state__in=ACTIVE_STATES)
_ENDED_LINE = Q(is_line=True, line_state__in=ENDED_STATES)
_NEWEST = ("-submit_time", "-id")
# One for each way in which a list of lines is read, so that its last page costs what the first does.
_LINE_INDEXES = [
    models.Index(fields=["tenant", *_NEWEST], name="lines_active_by_tenant", condition=_ACTIVE_LINE),
    models.Index(fields=["tenant", *_NEWEST], name="lines_ended_by_tenant", condition=_ENDED_LINE),
    models.Index(fields=["owner", *_NEWEST], name="lines_active_by_owner", condition=_ACTIVE_LINE),
    models.Index(fields=["owner", *_NEWEST], name="lines_ended_by_owner", condition=_ENDED_LINE),
    models.Index(fields=["cluster", *_NEWEST], name="lines_active_by_cluster", condition=_ACTIVE_LINE),
    models.Index(
        fields=["tenant", "partition", *_NEWEST], name="lines_by_partition", condition=Q(is_line=True)
    ),
    models.Index(
        fields=["tenant", "partition"],
        name="lines_in_several",
        condition=Q(is_line=True, partition__contains=","),
    ),
    models.Index(
        fields=["tenant", "account", *_NEWEST],
        name="lines_by_account",
        condition=Q(is_line=True) & ~Q(account=""),
    ),
    models.Index(
        "tenant",
        Left("name", NAME_SORTED),
        "submit_time",
        "id",
        name="lines_by_name",
        condition=Q(is_line=True),
    ),
    models.Index(
        "tenant",
        Coalesce(F("gpus"), Value(0)),
        "submit_time",
        "id",
        name="lines_by_gpus",
        condition=Q(is_line=True),
    ),
]


class Job(TenantOwned):
    """The last known row of one Slurm job (one array task that started is a job of its own)."""

    cluster = models.ForeignKey(
        Cluster, verbose_name=_("cluster"), on_delete=models.CASCADE, related_name="jobs"
    )
    identity = models.ForeignKey(
        SlurmIdentity, verbose_name=_("account"), on_delete=models.PROTECT, null=True, related_name="jobs"
    )
    owner = models.ForeignKey(
        User, verbose_name=_("owner"), on_delete=models.PROTECT, null=True, related_name="jobs"
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
    mark = models.CharField(_("mark"), max_length=12, blank=True, db_index=True)
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
        indexes = [
            models.Index(fields=["tenant", "-submit_time", "-id"], name="jobs_by_tenant"),
            models.Index(fields=["cluster", "-submit_time", "-id"], name="jobs_by_cluster"),
            models.Index(fields=["owner", "-submit_time", "-id"], name="jobs_by_owner"),
            models.Index(
                fields=["cluster", "state"],
                name="jobs_active",
                condition=Q(state__in=("PENDING", "RUNNING", "SUSPENDED", "COMPLETING")),
            ),
            models.Index(fields=["owner", "-end_time"], name="jobs_by_end"),
            models.Index(  # by id one looks for a whole array, too
                fields=["cluster", "array_job_id"],
                name="jobs_by_array",
                condition=Q(array_job_id__isnull=False),
            ),
            models.Index(
                fields=["cluster", "het_job_id"], name="jobs_by_set", condition=Q(het_job_id__isnull=False)
            ),
            # lists begin with what is active, which may be few among very many that ended
            models.Index(
                fields=["tenant", "-submit_time", "-id"],
                name="jobs_active_by_tenant",
                condition=Q(state__in=("PENDING", "RUNNING", "SUSPENDED", "COMPLETING")),
            ),
            models.Index(
                fields=["owner", "-submit_time", "-id"],
                name="jobs_active_by_owner",
                condition=Q(state__in=("PENDING", "RUNNING", "SUSPENDED", "COMPLETING")),
            ),
            *_LINE_INDEXES,
        ]

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


class JobEvent(models.Model):
    """A change of a job's state or reason, as the observer saw it; append-only."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    state = models.CharField(max_length=20)
    reason = models.CharField(max_length=200, blank=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "job__tenant"

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.state} at {self.at}"


class SubmissionState(models.TextChoices):
    """Of one press of Submit; allowed moves stand in jobs.services.submissions."""

    SENDING = "sending", _("Being sent")
    ACCEPTED = "accepted", _("Accepted")
    REFUSED = "refused", _("Refused")
    CHECKING = "checking", _("Checking")  # the answer was lost: the mark is sought before anyone tries again
    ABSENT = "absent", _("Did not arrive")  # a complete list without the mark: may be sent again
    UNKNOWN = "unknown", _("Cannot be known any more")


class Submission(TenantOwned):
    """The merged request of one submit; the form's one-time key makes a second one impossible."""

    cluster = models.ForeignKey(
        Cluster, verbose_name=_("cluster"), on_delete=models.CASCADE, related_name="submissions"
    )
    user = models.ForeignKey(
        User, verbose_name=_("person"), on_delete=models.PROTECT, related_name="submissions"
    )
    identity = models.ForeignKey(
        SlurmIdentity, verbose_name=_("account"), on_delete=models.PROTECT, related_name="submissions"
    )
    key = models.UUIDField(default=uuid.uuid4, help_text="One-time key of the form.")
    mark = models.CharField(_("mark"), max_length=12, unique=True)
    state = models.CharField(
        _("state"), max_length=10, choices=SubmissionState, default=SubmissionState.SENDING
    )
    request = models.JSONField(help_text="As sent, without script and environment values.")
    origins = models.JSONField(default=dict, help_text="Where each value came from: form, line 3, default.")
    script = models.TextField()
    notes = models.JSONField(default=list, help_text="What was changed in the script before it was sent.")
    sealed_environment = models.BinaryField(
        help_text="Sealed with portal.lib.crypto; values for the submitter only."
    )
    slurm_job_id = models.BigIntegerField(_("Slurm job id"), null=True)
    job = models.ForeignKey(
        Job, verbose_name=_("job"), on_delete=models.SET_NULL, null=True, related_name="submissions"
    )
    message = models.TextField(_("message"), blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    sent_at = models.DateTimeField(_("sent"), help_text=_("Of the last time it was sent."))
    answered_at = models.DateTimeField(_("answered"), null=True)

    class Meta:
        verbose_name, verbose_name_plural = _("submission"), _("submissions")
        constraints = [models.UniqueConstraint("user", "key", name="one_submission_per_form")]
        indexes = [
            models.Index(
                fields=["cluster"], name="submissions_open", condition=Q(state__in=("sending", "checking"))
            )
        ]

    def __str__(self) -> str:
        return f"Submission {self.mark}"

    @property
    def is_open(self) -> bool:
        """Whether it is not known yet if Slurm has it."""
        return self.state in {SubmissionState.SENDING, SubmissionState.CHECKING}


class Partition(models.Model):
    """A partition as Slurm last told of it: what the submit form offers and checks against."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="partitions")
    name = models.CharField(max_length=200)
    state = models.CharField(max_length=40)
    is_default = models.BooleanField(default=False)
    max_time_minutes = models.PositiveBigIntegerField(null=True, help_text="Null: no limit.")
    default_time_minutes = models.PositiveBigIntegerField(null=True, help_text="Null: as the most.")
    max_nodes = models.PositiveBigIntegerField(null=True, help_text="Null: no limit.")
    total_nodes = models.PositiveIntegerField(default=0)
    total_cpus = models.PositiveIntegerField(default=0)
    gpus = models.PositiveIntegerField(default=0)
    gpu_models = models.JSONField(default=list, help_text="Slurm's gres types, sorted.")
    observed_at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    class Meta:
        constraints = [models.UniqueConstraint("cluster", "name", name="one_partition_per_name")]

    def __str__(self) -> str:
        return self.name


class Inventory(models.Model):
    """Reservations and licences of a cluster as Slurm last told of them."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="inventory")
    reservations = models.JSONField(default=list)
    licenses = models.JSONField(default=list)
    observed_at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()
    tenant_path = "cluster__tenant"

    def __str__(self) -> str:
        return f"Inventory of {self.cluster}"


class SavedView(TenantOwned):
    """A list of jobs as a member likes to see it: the filters, the order and the columns, under a name."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_views")
    cluster = models.ForeignKey(
        Cluster,
        on_delete=models.CASCADE,
        null=True,
        help_text="Whose queue it is of; null: the list of jobs.",
    )
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000, blank=True, help_text="As it stands in the address.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint("tenant", "user", "name", name="one_view_per_name")]

    def __str__(self) -> str:
        return self.name


from jobs.history.models import HistoryCursor, JobUse  # noqa: E402, F401
from jobs.job_templates.models import JobTemplate, JobTemplateVersion  # noqa: E402, F401
from jobs.limits.models import SlurmLimit  # noqa: E402, F401
from jobs.notify.models import JobNotice, JobSubscription  # noqa: E402, F401  # Django looks for models here
