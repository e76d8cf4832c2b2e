"""Lines of lists, their indexes, and views that members save."""

from __future__ import annotations

import uuid

import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

# Rows that were seen before: a group whose own row is known becomes one line (jobs.observer.lines keeps it).
FOLD = """
UPDATE jobs_job AS job SET is_line = false WHERE job.{kind} IS NOT NULL AND job.slurm_job_id <> job.{kind}
AND EXISTS (SELECT FROM jobs_job AS line WHERE line.cluster_id = job.cluster_id
            AND line.slurm_job_id = job.{kind} AND line.{kind} = job.{kind});
UPDATE jobs_job AS line SET group_states = counted.states, group_state = counted.state
FROM (
    SELECT cluster_id, number, jsonb_object_agg(state, tasks) AS states,
           (array_agg(state ORDER BY array_position(ARRAY[{order}]::varchar[], state)))[1] AS state
    FROM (SELECT cluster_id, {kind} AS number, state, sum(task_count) AS tasks
          FROM jobs_job WHERE {kind} IS NOT NULL GROUP BY 1, 2, 3) AS each_state
    GROUP BY cluster_id, number
) AS counted
WHERE line.cluster_id = counted.cluster_id AND line.slurm_job_id = counted.number
AND line.{kind} = counted.number;
"""
ORDER = ", ".join(
    f"'{state}'"
    for state in (
        *("RUNNING", "COMPLETING", "SUSPENDED", "PENDING", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY"),
        *("FAILED", "TIMEOUT", "DEADLINE", "PREEMPTED", "CANCELLED", "ENDED", "COMPLETED"),
    )
)


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0014_parameters"),
        ("jobs", "0005_names_found"),
        ("tenants", "0007_people_by_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=60)),
                (
                    "query",
                    models.CharField(blank=True, help_text="As it stands in the address.", max_length=1000),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.AddField(
            model_name="job",
            name="group_state",
            field=models.CharField(blank=True, help_text="Of a line: its most telling state.", max_length=20),
        ),
        migrations.AddField(
            model_name="job",
            name="group_states",
            field=models.JSONField(help_text="Of a line: how many tasks or parts in each state.", null=True),
        ),
        migrations.AddField(
            model_name="job",
            name="is_line",
            field=models.BooleanField(
                default=True, help_text="False: stands behind the line of its array or set."
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="line_state",
            field=models.GeneratedField(
                db_persist=True,
                expression=django.db.models.functions.comparison.Coalesce(
                    django.db.models.functions.comparison.NullIf("group_state", models.Value("")), "state"
                ),
                output_field=models.CharField(max_length=20),
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("het_job_id__isnull", False)),
                fields=["cluster", "het_job_id"],
                name="jobs_by_set",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(
                    ("is_line", True), ("line_state__in", ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING"))
                ),
                fields=["tenant", "-submit_time", "-id"],
                name="lines_active_by_tenant",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(
                    ("is_line", True),
                    (
                        "line_state__in",
                        (
                            "COMPLETED",
                            "CANCELLED",
                            "FAILED",
                            "TIMEOUT",
                            "NODE_FAIL",
                            "PREEMPTED",
                            "BOOT_FAIL",
                            "DEADLINE",
                            "OUT_OF_MEMORY",
                            "ENDED",
                        ),
                    ),
                ),
                fields=["tenant", "-submit_time", "-id"],
                name="lines_ended_by_tenant",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(
                    ("is_line", True), ("line_state__in", ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING"))
                ),
                fields=["owner", "-submit_time", "-id"],
                name="lines_active_by_owner",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(
                    ("is_line", True),
                    (
                        "line_state__in",
                        (
                            "COMPLETED",
                            "CANCELLED",
                            "FAILED",
                            "TIMEOUT",
                            "NODE_FAIL",
                            "PREEMPTED",
                            "BOOT_FAIL",
                            "DEADLINE",
                            "OUT_OF_MEMORY",
                            "ENDED",
                        ),
                    ),
                ),
                fields=["owner", "-submit_time", "-id"],
                name="lines_ended_by_owner",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(
                    ("is_line", True), ("line_state__in", ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING"))
                ),
                fields=["cluster", "-submit_time", "-id"],
                name="lines_active_by_cluster",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("is_line", True)),
                fields=["tenant", "partition", "-submit_time", "-id"],
                name="lines_by_partition",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("is_line", True), ("partition__contains", ",")),
                fields=["tenant", "partition"],
                name="lines_in_several",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("is_line", True), models.Q(("account", ""), _negated=True)),
                fields=["tenant", "account", "-submit_time", "-id"],
                name="lines_by_account",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("tenant"),
                django.db.models.functions.text.Left("name", 64),
                models.F("submit_time"),
                models.F("id"),
                condition=models.Q(("is_line", True)),
                name="lines_by_name",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("tenant"),
                django.db.models.functions.comparison.Coalesce(models.F("gpus"), models.Value(0)),
                models.F("submit_time"),
                models.F("id"),
                condition=models.Q(("is_line", True)),
                name="lines_by_gpus",
            ),
        ),
        migrations.AddField(
            model_name="savedview",
            name="cluster",
            field=models.ForeignKey(
                help_text="Whose queue it is of; null: the list of jobs.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                to="clusters.cluster",
            ),
        ),
        migrations.AddField(
            model_name="savedview",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
                verbose_name="tenant",
            ),
        ),
        migrations.AddField(
            model_name="savedview",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="saved_views",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(
                models.F("tenant"), models.F("user"), models.F("name"), name="one_view_per_name"
            ),
        ),
        *(
            migrations.RunSQL(FOLD.format(kind=kind, order=ORDER), migrations.RunSQL.noop)
            for kind in ("array_job_id", "het_job_id")
        ),
    ]
