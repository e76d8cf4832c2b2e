"""ETags: 304 while nothing changed, and never when something did."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from clusters.live import of_order
from clusters.models import Order, SlurmEndpoint
from jobs.models import Job
from portal.lib import clock
from tenants.live.topics import publish
from tenants.models import Invitation, Membership
from tests.api.calls import OPERATIONS, all_calls, make_token, perform, send
from tests.architecture.routes import World
from tests.clusters.routes import order_of

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
CALLS = all_calls()
VERSIONED = sorted(name for name, operation in OPERATIONS.items() if "304" in operation.facts["responses"])


def test_single_things_have_versions() -> None:
    assert set(VERSIONED) >= {"tenant", "member", "invitation", "order", "cluster", "job"}


@pytest.mark.parametrize("name", VERSIONED)
def test_the_same_is_not_sent_twice(name: str) -> None:
    world = World()
    token = make_token(world.owner, world.tenant)
    call, operation = CALLS[name], OPERATIONS[name]
    first = perform(world, call, operation, token)
    path = first.request["PATH_INFO"]
    for known in (first["ETag"], f'"x", {first["ETag"]}', f"W/{first['ETag']}", "*"):
        again = send(token, "get", path, If_None_Match=known)
        assert (again.status_code, again.content) == (304, b"")
        assert again["ETag"] == first["ETag"]
    assert send(token, "get", path, If_None_Match='"x"').status_code == 200


def etag(token: str, path: str) -> Any:
    answer = send(token, "get", path)
    assert answer.status_code == 200
    return answer["ETag"]


def test_a_change_of_row_topic_role_or_token_is_another_version() -> None:
    world = World()
    order = Order.objects.get(pk=order_of(world)["pk"])
    token, second = (make_token(world.owner, world.tenant) for _ in range(2))
    path = f"/api/v1/t/aurora/orders/{order.pk}/"
    seen = [etag(token, path), etag(second, path)]
    Order.objects.filter(pk=order.pk).update(decision_note="Soon.")
    seen.append(etag(token, path))
    publish(of_order(order)[0])
    seen.append(etag(token, path))
    Membership.objects.filter(user=world.owner).update(role="admin")
    seen.append(etag(token, path))
    assert len(set(seen)) == len(seen)


def test_what_ends_by_itself_is_another_version() -> None:
    world = World()
    token = make_token(world.owner, world.tenant)
    answer = send(
        token, "post", "/api/v1/t/aurora/invitations/", {"email": "a@example.org", "role": "member"}
    )
    path = f"/api/v1/t/aurora/invitations/{answer.json()['id']}/"
    Invitation.objects.update(expires_at=clock.now() + dt.timedelta(seconds=0.4))
    first = etag(token, path)
    deadline = clock.now() + dt.timedelta(seconds=10)
    while send(token, "get", path).json()["state"] != "ended":
        assert clock.now() < deadline
    assert etag(token, path) != first


def test_a_look_of_the_observer_is_another_version() -> None:
    world = World()
    token = make_token(world.owner, world.tenant)
    path = perform(world, CALLS["job"], OPERATIONS["job"], token).request["PATH_INFO"]
    first = etag(token, path)
    Job.objects.update(observed_at=clock.now())
    second = etag(token, path)
    assert second != first
    SlurmEndpoint.objects.update(unreachable_since=clock.now())
    assert etag(token, path) != second
    assert send(token, "get", path).json()["unreachable_since"]
