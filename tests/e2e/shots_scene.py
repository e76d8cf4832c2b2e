"""The things on the pictures of `make shots`: what the portal holds, as text for addresses."""

from __future__ import annotations

from django.apps import apps

from tests.e2e.shots_pages import Facts
from tests.e2e.supervised import Portal

SUBJECT = "ada"  # the pictures below /t/ are of this person's tenant
FIRST_TENANT = """
    SELECT t.slug, t.id::text FROM tenants_tenant t
    JOIN tenants_membership m ON m.tenant_id = t.id AND m.ended_at IS NULL
    JOIN tenants_oidcidentity i ON i.user_id = m.user_id
    WHERE i.subject = %s ORDER BY m.id LIMIT 1
"""


def facts_of(portal: Portal) -> Facts:
    """The tenant of `SUBJECT` and, by model name, its newest rows ("cluster", "order", "job"); for the
    admin "first app_model", the first row of each model.
    """
    tenants = portal.rows(FIRST_TENANT, SUBJECT)
    facts: dict[str, str] = {"tenant": tenants[0][0]} if tenants else {}
    for model in apps.get_models():
        table, key = model._meta.db_table, model._meta.pk.column
        columns = {field.column for field in model._meta.local_concrete_fields}
        label = f"{model._meta.app_label}_{model._meta.model_name}"
        if first := portal.value(f'SELECT "{key}"::text FROM "{table}" ORDER BY 1 LIMIT 1'):  # noqa: S608
            facts[f"first {label}"] = first
        if tenants and "tenant_id" in columns:
            query = f'SELECT "{key}"::text FROM "{table}" WHERE tenant_id = %s ORDER BY "{key}" DESC LIMIT 1'  # noqa: S608
            if newest := portal.value(query, tenants[0][1]):
                facts[str(model._meta.model_name)] = newest
    return facts
