"""Indexes that say what others say too: each job was in five of them, each submit in two, at every change."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Drops what begins another index, and those for parts of marks, which nobody looks for."""

    dependencies: ClassVar = [
        ("jobs", "0017_rules"),
        ("clusters", "0001_initial"),
        ("tenants", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.AlterField(
            model_name="job",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
                verbose_name="tenant",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="cluster",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="jobs",
                to="clusters.cluster",
                verbose_name="cluster",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="jobs",
                to=settings.AUTH_USER_MODEL,
                verbose_name="owner",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="mark",
            field=models.CharField(blank=True, max_length=12, verbose_name="mark"),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["mark"], name="jobs_by_mark"),
        ),
        migrations.AlterField(
            model_name="submission",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="submissions",
                to=settings.AUTH_USER_MODEL,
                verbose_name="person",
            ),
        ),
        migrations.AlterField(
            model_name="submission",
            name="mark",
            field=models.CharField(max_length=12, verbose_name="mark"),
        ),
        migrations.AddConstraint(
            model_name="submission",
            constraint=models.UniqueConstraint(fields=["mark"], name="one_submission_per_mark"),
        ),
    ]
