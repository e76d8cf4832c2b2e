"""What members may use at once in a cluster."""

from __future__ import annotations

import uuid
from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """The table of jobs.limits."""

    dependencies: ClassVar = [
        ("clusters", "0001_initial"),
        ("tenants", "0001_initial"),
        ("jobs", "0012_inventory"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="SlurmLimit",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "running_jobs",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="jobs that run at once"),
                ),
                (
                    "submitted_jobs",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="jobs that wait or run"),
                ),
                ("gpus", models.PositiveIntegerField(blank=True, null=True, verbose_name="GPUs at once")),
                (
                    "wall_minutes",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="minutes of one job"),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("wanted", "Being set"), ("set", "Set"), ("failed", "Not set")],
                        default="wanted",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                ("message", models.CharField(blank=True, max_length=300)),
                ("version", models.PositiveIntegerField(default=0, help_text="Raised by each change.")),
                ("failures", models.PositiveIntegerField(default=0)),
                ("next_at", models.DateTimeField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slurm_limits",
                        to="clusters.cluster",
                        verbose_name="cluster",
                    ),
                ),
                (
                    "identity",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="limit",
                        to="clusters.slurmidentity",
                        verbose_name="account",
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
            options={"verbose_name": "limits of a member", "verbose_name_plural": "limits of members"},
        ),
    ]
