"""The trail of a tenant is found by audit_by_tenant alone; each row was in a second index too."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Drops an index."""

    dependencies: ClassVar = [("tenants", "0009_ssh_keys")]

    operations: ClassVar = [
        migrations.AlterField(
            model_name="auditevent",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
                verbose_name="tenant",
            ),
        ),
    ]
