"""Templates of a tenant and of its members; what each version said is kept."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import User
from tenants.models.people import TenantOwned
from tenants.scoping import TenantQuerySet


class JobTemplate(TenantOwned):
    """A script to begin with; its text stands in its versions."""

    owner = models.ForeignKey(
        User,
        on_delete=models.CASCADE,
        null=True,
        related_name="job_templates",
        help_text="Null: of the tenant, for all its members.",
    )
    name = models.CharField(_("name"), max_length=60)
    text = models.CharField(_("what it is for"), max_length=200, blank=True)
    version = models.PositiveIntegerField(_("version"), default=0, help_text="The newest.")
    used_at = models.DateTimeField(_("last used"), null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name, verbose_name_plural = _("job template"), _("job templates")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "owner", "name"], name="one_template_per_name", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return self.name


class JobTemplateVersion(models.Model):
    """What a template said from one change to the next; never changed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    template = models.ForeignKey(JobTemplate, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    script = models.TextField()
    fields = models.JSONField(default=dict, help_text="Texts of the form's fields, by their names.")
    parameters = models.JSONField(default=list, help_text="See jobs.job_templates.parameters.")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "template__tenant"

    class Meta:
        constraints = [models.UniqueConstraint(fields=["template", "number"], name="one_version_per_number")]

    def __str__(self) -> str:
        return f"{self.template} v{self.number}"
