"""Finds jobs by any part of their name and arrays by their id, however many a tenant has."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0004_word_of_tenant"), ("clusters", "0012_names_found")]

    operations = [
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                fields=["cluster", "array_job_id"],
                name="jobs_by_array",
                condition=models.Q(("array_job_id__isnull", False)),
            ),
        ),
        migrations.RunSQL(
            "CREATE INDEX jobs_by_part_of_name ON jobs_job USING gin (upper(name::text) gin_trgm_ops)",
            "DROP INDEX jobs_by_part_of_name",
        ),
    ]
