"""What accounting allows in a cluster, and who may use its partitions."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Two tables, and columns of partitions."""

    dependencies: ClassVar = [("clusters", "0001_initial"), ("jobs", "0015_at_work")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="partition",
            name="allowed_accounts",
            field=models.TextField(blank=True, default="", help_text='"a,b"; blank: all.'),
        ),
        migrations.AddField(
            model_name="partition",
            name="allowed_qos",
            field=models.TextField(blank=True, default="", help_text='"a,b"; blank: all.'),
        ),
        migrations.AddField(
            model_name="partition",
            name="denied_accounts",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="partition",
            name="denied_qos",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="partition",
            name="qos",
            field=models.CharField(
                blank=True, default="", help_text="Whose limits hold for its jobs.", max_length=200
            ),
        ),
        migrations.CreateModel(
            name="Rules",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("qos", models.JSONField(default=list, help_text="By name.")),
                ("accounts", models.JSONField(default=list, help_text="By name; each with its parent.")),
                (
                    "used",
                    models.JSONField(
                        help_text="Minutes, where there is a budget. Null: not told.", null=True
                    ),
                ),
                (
                    "enforces",
                    models.JSONField(help_text="associations, limits, qos ... Null: not told.", null=True),
                ),
                ("max_array_size", models.PositiveIntegerField(help_text="Null: not told.", null=True)),
                (
                    "digest",
                    models.CharField(help_text="Of what was told of QOS, accounts and users.", max_length=64),
                ),
                ("observed_at", models.DateTimeField()),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rules",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={"verbose_name_plural": "rules"},
        ),
        migrations.CreateModel(
            name="UserRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("user", models.CharField(max_length=64)),
                ("account", models.CharField(max_length=200)),
                ("partition", models.CharField(blank=True, max_length=200)),
                ("is_default", models.BooleanField(default=False)),
                (
                    "rule",
                    models.JSONField(
                        default=dict, help_text="QOS that may be asked for, the default one, limits."
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="user_rules",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="userrule",
            constraint=models.UniqueConstraint(
                models.F("cluster"),
                models.F("user"),
                models.F("account"),
                models.F("partition"),
                name="one_rule_per_user",
            ),
        ),
    ]
