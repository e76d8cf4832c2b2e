"""Prefixes of clusters, and the rule that no two of them overlap at a site."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

# btree_gist lets one index compare sites by = and prefixes by &&; it is a trusted extension that comes
# with PostgreSQL, so the owner of the database may add it
RULE = """
CREATE EXTENSION IF NOT EXISTS btree_gist;
ALTER TABLE clusters_fabricprefix ADD CONSTRAINT fabric_prefixes_never_overlap
    EXCLUDE USING gist (site_id WITH =, (prefix::inet) inet_ops WITH &&);
"""
NO_RULE = "ALTER TABLE clusters_fabricprefix DROP CONSTRAINT fabric_prefixes_never_overlap"


class Migration(migrations.Migration):
    dependencies = [("clusters", "0007_kubeconfigs")]
    operations = [
        migrations.CreateModel(
            name="FabricPrefix",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("prefix", models.CharField(help_text="E.g. 10.96.16.0/20.", max_length=18)),
                ("given_at", models.DateTimeField(auto_now_add=True)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="prefix",
                        to="clusters.cluster",
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="prefixes",
                        to="clusters.site",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(RULE, NO_RULE),
    ]
