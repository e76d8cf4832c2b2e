"""Reservations and licences as last seen."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0011_history")]

    operations = [
        migrations.CreateModel(
            name="Inventory",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reservations", models.JSONField(default=list)),
                ("licenses", models.JSONField(default=list)),
                ("observed_at", models.DateTimeField()),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="inventory",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
    ]
