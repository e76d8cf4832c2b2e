"""What the database itself holds: ids that are never given out twice, and events that nobody rewrites."""

from __future__ import annotations

from django.db import migrations

SEQUENCE = "CREATE SEQUENCE clusters_unix_id MINVALUE 0 START 0"
DROP_SEQUENCE = "DROP SEQUENCE clusters_unix_id"

GUARD = """
CREATE FUNCTION clusters_stepevent_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'step events are append-only';
END $$;
CREATE TRIGGER clusters_stepevent_is_final BEFORE UPDATE OR DELETE ON clusters_stepevent
    FOR EACH ROW EXECUTE FUNCTION clusters_stepevent_is_final();
"""
DROP_GUARD = """
DROP TRIGGER clusters_stepevent_is_final ON clusters_stepevent;
DROP FUNCTION clusters_stepevent_is_final();
"""


class Migration(migrations.Migration):
    dependencies = [("clusters", "0001_initial")]
    operations = [
        migrations.RunSQL(SEQUENCE, DROP_SEQUENCE),
        migrations.RunSQL(GUARD, DROP_GUARD),
    ]
