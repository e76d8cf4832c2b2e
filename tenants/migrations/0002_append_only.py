"""The audit trail is append-only, and the database says so, whoever asks."""

from __future__ import annotations

from django.db import migrations

# Test runs empty all tables between tests; their database carries the setting, no other does.
GUARD = """
CREATE FUNCTION tenants_auditevent_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' AND current_setting('freehold.flush', true) = 'allowed' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the audit trail is append-only';
END $$;
CREATE TRIGGER tenants_auditevent_rows_are_final BEFORE UPDATE OR DELETE ON tenants_auditevent
    FOR EACH ROW EXECUTE FUNCTION tenants_auditevent_is_final();
CREATE TRIGGER tenants_auditevent_is_final BEFORE TRUNCATE ON tenants_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION tenants_auditevent_is_final();
"""
DROP_GUARD = """
DROP TRIGGER tenants_auditevent_is_final ON tenants_auditevent;
DROP TRIGGER tenants_auditevent_rows_are_final ON tenants_auditevent;
DROP FUNCTION tenants_auditevent_is_final();
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_initial")]
    operations = [migrations.RunSQL(GUARD, DROP_GUARD)]
