"""The audit page tells facts in words; exports keep them as they are."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from tenants.facts import facts_of, thing_of
from tenants.models import AuditEvent
from tests.builders import make_tenant, make_user, sign_in

HASH = "0f" * 32
KEY = "6a1f0c1e-3f1c-4a3e-9c8e-3b8f3d0a7c11"


def event(target_type: str = "", target_label: str = "", **detail: Any) -> AuditEvent:
    return AuditEvent(verb="x.y", target_type=target_type, target_label=target_label, detail=detail)


@pytest.mark.parametrize(
    ("detail", "told"),
    [
        ({"note": "", "why": None, "differences": []}, []),
        ({"plan": HASH, "order": KEY, "mark": "fh-1"}, []),
        ({"others": [KEY, KEY]}, [("others with this address", "2")]),
        ({"role": "member", "others_closed": 2}, [("role", "Member"), ("other invitations closed", "2")]),
        ({"role": {"old": "", "new": "admin"}}, [("role", "(none) → Admin")]),
        ({"at_once": True}, [("at once", "yes")]),
        ({"cancel_jobs_on_leave": {"old": "no", "new": "yes"}}, [("cancel jobs of leavers", "no → yes")]),
        ({"scopes": ["read", "jobs"]}, [("scopes", "read, jobs")]),
        ({"expires_at": "2026-02-28T12:00:00+01:00"}, [("ends", "2026-02-28 11:00 UTC")]),
        ({"nodes": {"train": [2, 4]}}, [("nodes", "train 2 → 4")]),
        ({"others": True, "as": "fhada"}, [("job of another person", "yes"), ("as", "fhada")]),
        ({"pools": {"train": 2, "debug": None}}, [("pools", "train 2")]),
        ({"asked": [{"pool": "train", "count": 2}]}, [("asked", "pool train, count 2")]),
    ],
)
def test_facts_read_as_words(detail: dict[str, Any], told: list[tuple[str, str]]) -> None:
    assert list(facts_of(event(**detail))) == told


def test_a_submission_is_called_by_its_jobs_name() -> None:
    assert thing_of(event("submission", "Submission fh-77-ab", name="train-7b")) == "train-7b"
    assert thing_of(event("submission", "Submission fh-77-ab")) == ""
    assert thing_of(event("submission", "train-7b")) == "train-7b"
    assert thing_of(event("cluster", "gpu-a")) == "gpu-a"


def test_things_are_called_in_the_readers_language() -> None:
    with translation.override("de"):
        assert thing_of(event("order", "New cluster gpu-a")) == "Neuer Cluster gpu-a"
        assert thing_of(event("order", "Something else")) == "Something else"
        assert thing_of(event("invitation", "Invitation of a@b.example")) == "Einladung von a@b.example"
        assert list(facts_of(event(role="admin"))) == [("Rolle", "Administrator")]
    assert thing_of(event("order", "New cluster gpu-a")) == "New cluster gpu-a"


@pytest.mark.django_db
def test_the_page_shows_no_python(client: Client) -> None:
    ada = make_user("Ada")
    tenant = make_tenant("Aurora", owner=ada)
    AuditEvent.objects.create(
        verb="order.approved",
        tenant=tenant,
        actor_kind="operator",
        actor_label="Otto",
        via="admin",
        target_type="order",
        target_label="gpu-a",
        detail={
            "plan": HASH,
            "note": "",
            "machines": ["n1", "n2"],
            "lines": [{"pool": "train"}],
            "was": None,
        },
    )
    page = sign_in(client, ada).get("/t/aurora/audit/").content.decode()
    assert "lines: pool train; machines: n1, n2<" in page
    assert "in Operations" in page
    for raw in ("[&#x27;", "{&#x27;", "None", "note:", HASH[:12]):
        assert raw not in page


def test_amounts_and_policies_read_in_the_readers_language() -> None:
    stored = event(price_per_hour="1250.50", policy="By policy: shrinking needs no operator.")
    assert list(facts_of(stored)) == [
        ("price per hour", "1,250.50"),
        ("policy", "By policy: shrinking needs no operator."),
    ]
    with translation.override("de"):
        price, policy = facts_of(stored)
    assert price[1] == "1.250,50"
    assert "By policy" not in policy[1]
    assert list(facts_of(event(price_per_hour="much", policy="Our own."))) == [
        ("price per hour", "much"),
        ("policy", "Our own."),
    ]
