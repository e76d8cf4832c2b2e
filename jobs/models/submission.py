"""What was sent to Slurm, and what became of it."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from clusters.models import Cluster, SlurmIdentity
from jobs.models.job import Job
from tenants.models import User
from tenants.models.people import TenantOwned


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
        User,
        verbose_name=_("person"),
        on_delete=models.PROTECT,
        related_name="submissions",
        db_index=False,  # it begins that of its forms
    )
    identity = models.ForeignKey(
        SlurmIdentity, verbose_name=_("account"), on_delete=models.PROTECT, related_name="submissions"
    )
    key = models.UUIDField(default=uuid.uuid4, help_text="One-time key of the form.")
    mark = models.CharField(_("mark"), max_length=12)
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
        constraints = [
            models.UniqueConstraint("user", "key", name="one_submission_per_form"),
            models.UniqueConstraint(fields=["mark"], name="one_submission_per_mark"),
        ]
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
