"""Finds orders by any part of their cluster's name, however many a tenant has."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("clusters", "0011_kubeconfig_server")]

    operations = [
        # comes with PostgreSQL, and the owner of a database may add it
        migrations.RunSQL("CREATE EXTENSION IF NOT EXISTS pg_trgm", migrations.RunSQL.noop),
        migrations.RunSQL(
            "CREATE INDEX orders_by_part_of_name ON clusters_order"
            " USING gin (upper(cluster_name::text) gin_trgm_ops)",
            "DROP INDEX orders_by_part_of_name",
        ),
    ]
