"""What members want to be told of, and what they were told."""

from __future__ import annotations

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0008_lines"),
        ("tenants", "0007_people_by_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="JobNotice",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "what",
                    models.CharField(
                        choices=[("started", "started"), ("ended", "ended"), ("failed", "failed")],
                        max_length=10,
                    ),
                ),
                (
                    "restarts",
                    models.PositiveIntegerField(
                        help_text="Of the job then: a requeued one starts again."
                    ),
                ),
                ("at", models.DateTimeField()),
                ("in_browser", models.BooleanField()),
                ("seen_at", models.DateTimeField(null=True)),
                ("by_mail", models.BooleanField()),
                ("mailed_at", models.DateTimeField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="notices", to="jobs.job"
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
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="job_notices",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "notification",
                "verbose_name_plural": "notifications",
                "indexes": [
                    models.Index(fields=["tenant", "user", "-at", "-id"], name="notices_by_user"),
                    models.Index(
                        condition=models.Q(("in_browser", True), ("seen_at", None)),
                        fields=["tenant", "user"],
                        name="notices_unseen",
                    ),
                    models.Index(
                        condition=models.Q(("by_mail", True), ("mailed_at", None)),
                        fields=["at"],
                        name="notices_to_mail",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "job", "what", "restarts"), name="one_notice_each"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="JobSubscription",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("on_start", models.BooleanField(default=False)),
                ("on_end", models.BooleanField(default=False, help_text="However it ended.")),
                ("on_failure", models.BooleanField(default=False)),
                ("by_mail", models.BooleanField(default=False)),
                ("in_browser", models.BooleanField(default=True)),
                ("since", models.DateTimeField(help_text="What happened earlier is not told.")),
                (
                    "job",
                    models.ForeignKey(
                        help_text="Of an array or het job any row; null: all jobs of the user.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subscriptions",
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
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="job_subscriptions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "notification setting",
                "verbose_name_plural": "notification settings",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "user", "job"),
                        name="one_subscription_per_job",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
    ]
