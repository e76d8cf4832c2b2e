"""Rows that are added by COPY are those that an INSERT would have made."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from portal.lib import clock
from portal.lib.copying import add_rows
from tenants.models import AuditEvent, Tenant
from tests.builders import make_tenant

pytestmark = pytest.mark.django_db


def event(tenant: Tenant | None, **columns: object) -> AuditEvent:
    return AuditEvent(
        verb="a.b", tenant=tenant, actor_kind="system", actor_label="x", via="worker", **columns
    )


def test_values_come_back_as_they_were_and_the_database_fills_in_the_rest() -> None:
    before, tenant = clock.now(), make_tenant("Copied")
    detail = {"text": 'tab\t, line\nand \\N "ü"', "number": 1, "none": None}
    add_rows([event(tenant, detail=detail, address="127.0.0.1"), event(None)])
    first, second = AuditEvent.objects.filter(verb="a.b").order_by("id")
    assert (first.detail, first.tenant, first.address, first.request_id) == (detail, tenant, "127.0.0.1", "")
    assert (second.detail, second.tenant, second.address) == ({}, None, None)
    assert before <= first.at <= clock.now()


def test_a_row_that_is_there_already_is_refused_and_none_of_them_is_added() -> None:
    tenant = make_tenant("Copied")
    with pytest.raises(IntegrityError), transaction.atomic():
        add_rows([Tenant(name="Other", slug="other"), Tenant(name="Same", slug=tenant.slug)])
    assert not Tenant.objects.filter(slug="other").exists()
    add_rows([])
