"""The tenant's audit trail by API."""

from __future__ import annotations

from typing import Any

import pytest

from tenants.commands import command
from tenants.models import AuditEvent
from tests.api.calls import make_token, send
from tests.builders import actor_for, make_tenant, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]


def test_events_are_told_and_filtered() -> None:
    ada = make_user("Ada")
    tenant = make_tenant("Aurora", owner=ada)
    make_tenant("Boreas", owner=make_user("Olga"))
    token = make_token(ada, tenant)
    for verb, detail in (("test.one", {"n": 1, "inner": {"old": None, "new": [1]}}), ("test.two", {})):
        with command(verb, actor=actor_for(ada, tenant), target=tenant, detail=detail):
            pass
    with command("test.elsewhere", actor=actor_for(make_user("Bo"))):
        pass

    def get(query: str = "") -> list[Any]:
        answer = send(token, "get", f"/api/v1/t/aurora/audit/{query}")
        assert answer.status_code == 200, answer.content
        items: list[Any] = answer.json()["items"]
        return items

    assert [row["verb"] for row in get()] == ["test.two", "test.one", "token.created"]
    one = get("?verb=test.one")[0]
    assert one["detail"] == {"n": 1, "inner": {"old": None, "new": [1]}}
    assert (one["target"], one["target_type"], one["target_id"]) == ("Aurora", "tenant", str(tenant.pk))
    assert (one["actor_id"], one["actor_kind"], one["via"]) == (str(ada.pk), "person", "web")
    assert [row["verb"] for row in get("?text=ROBOT")] == ["token.created"]
    assert [row["verb"] for row in get("?verb=test")] == ["test.two", "test.one"]
    assert [row["verb"] for row in get(f"?target={tenant.pk}&who=ada")] == ["test.two", "test.one"]
    at = AuditEvent.objects.get(verb="test.one").at.isoformat().replace("+00:00", "Z")
    assert [row["verb"] for row in get(f"?since={at}")] == ["test.two", "test.one"]
    assert [row["verb"] for row in get(f"?until={at}")] == ["token.created"]
