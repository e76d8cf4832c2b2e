"""Finds a page of a tenant's members, by name."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0006_labels")]

    operations = [
        migrations.AddIndex(
            model_name="user", index=models.Index(fields=["name", "id"], name="people_by_name")
        ),
    ]
