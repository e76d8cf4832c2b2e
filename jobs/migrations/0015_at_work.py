"""Indexes of what is at work, for lists that begin with it where very many wait."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models

AT_WORK = ("RUNNING", "COMPLETING", "SUSPENDED")


class Migration(migrations.Migration):
    """Small ones: of what waits or ended nothing is in them."""

    dependencies: ClassVar = [
        ("clusters", "0001_initial"),
        ("tenants", "0001_initial"),
        ("jobs", "0018_steps"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("is_line", True), ("line_state__in", AT_WORK)),
                fields=["tenant", "-submit_time", "-id"],
                name="lines_at_work_by_tenant",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("is_line", True), ("line_state__in", AT_WORK)),
                fields=["cluster", "-submit_time", "-id"],
                name="lines_at_work_by_cluster",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state__in", AT_WORK)),
                fields=["tenant", "-submit_time", "-id"],
                name="jobs_at_work_by_tenant",
            ),
        ),
    ]
