"""Slurm's steps of jobs, as accounting has them."""

from __future__ import annotations

import uuid
from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """One row for each job whose steps were told."""

    dependencies: ClassVar = [("tenants", "0001_initial"), ("jobs", "0013_limits")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="JobSteps",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("steps", models.JSONField(default=list)),
                (
                    "count",
                    models.PositiveIntegerField(
                        help_text="Of very many only the first and the last are kept."
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="told_steps",
                        to="jobs.job",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                        verbose_name="tenant",
                    ),
                ),
            ],
            options={"verbose_name": "steps of a job", "verbose_name_plural": "steps of jobs"},
        ),
    ]
