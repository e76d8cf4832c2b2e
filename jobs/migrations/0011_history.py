"""What jobs took, and how far each cluster's accounting was read."""

from __future__ import annotations

import uuid
from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Two tables of jobs.history."""

    dependencies: ClassVar = [
        ("clusters", "0001_initial"),
        ("tenants", "0001_initial"),
        ("jobs", "0010_job_templates"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="HistoryCursor",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("read_until", models.DateTimeField(help_text="By the controller's clock.")),
                (
                    "window_seconds",
                    models.PositiveIntegerField(help_text="Read at once; less where that took too long."),
                ),
                ("next_at", models.DateTimeField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("trouble", models.CharField(blank=True, max_length=300)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="history",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="JobUse",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("elapsed_seconds", models.PositiveBigIntegerField(verbose_name="ran (seconds)")),
                ("cpus", models.PositiveIntegerField(verbose_name="CPUs")),
                ("cpu_seconds", models.FloatField(null=True, verbose_name="CPU time (seconds)")),
                (
                    "memory_mib",
                    models.PositiveBigIntegerField(
                        help_text="The most at once.", null=True, verbose_name="memory (MiB)"
                    ),
                ),
                ("memory_given_mib", models.PositiveBigIntegerField(help_text="Of one node.", null=True)),
                ("gpu_percent", models.FloatField(null=True, verbose_name="GPU use (%)")),
                ("idle_cpu_seconds", models.FloatField(help_text="Given, and not used.", null=True)),
                ("cpu_percent", models.FloatField(null=True)),
                ("memory_percent", models.FloatField(null=True)),
                ("ended_at", models.DateTimeField()),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="use", to="jobs.job"
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
            options={
                "verbose_name": "use of a job",
                "verbose_name_plural": "uses of jobs",
                "indexes": [
                    models.Index(
                        condition=models.Q(("idle_cpu_seconds__isnull", False)),
                        fields=["tenant", "-idle_cpu_seconds", "-id"],
                        name="uses_by_idle",
                    )
                ],
            },
        ),
    ]
