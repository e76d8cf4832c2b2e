"""Catalogue and orders by API."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest

from clusters.models import Offering, Order, OrderState, Quota, Site, SiteStock
from clusters.provisioning.plan import make_plan
from clusters.services.decisions import approve_order
from portal.lib import clock
from tenants.models import AuditEvent, Tenant
from tests.api.calls import send
from tests.clusters.builders import add_machines, make_flavor, make_order, make_site, operator

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
HERE = "/api/v1/t/aurora/"


@pytest.fixture(autouse=True)
def site(world: object) -> Site:
    return make_site(machines=4)


def ask(
    token: str, method: str, path: str, body: Any = None, *, status: int = 200, key: str | None = None
) -> Any:
    answer = send(token, method, HERE + path, body, key=key)
    assert answer.status_code == status, answer.content
    return answer.json()


def body_for(site: Site, **more: Any) -> dict[str, Any]:
    offering = Offering.objects.filter(site=site).earliest("pk")
    pools = [{"name": "train", "offering": str(offering.pk), "count": 2}]
    return {"name": "GPU A", "site": str(site.pk), "pools": pools, **more}


def test_the_catalogue_tells_price_capacity_and_quota(tenant: Tenant, site: Site, token: str) -> None:
    cpu = make_flavor("cpu-32", gpus=0)
    add_machines(site, cpu, 1, price="1.10")
    Offering.objects.create(site=make_site("Site South", machines=0), flavor=cpu, price_per_hour="1.00")
    Quota.objects.create(tenant=tenant, flavor=make_flavor(), nodes=3)
    make_order(tenant, site, nodes=2)
    found = ask(token, "get", "catalogue/")["items"]
    facts = [(row["site"]["slug"], row["flavor"]["name"], row["price_per_hour"]) for row in found]
    assert facts[:2] == [("site-north", "a100-4", "12.50"), ("site-north", "cpu-32", "1.10")]
    assert [row["quota_left"] for row in found[:2]] == [1, None]
    assert found[0]["capacity"] == {"total": 4, "free": 4, "seen_at": None}
    assert found[-1]["capacity"] == {"total": 0, "free": 0, "seen_at": None}
    Offering.objects.filter(flavor=cpu).update(active=False)
    assert len(ask(token, "get", "catalogue/")["items"]) == 2


def test_the_catalogue_says_how_old_the_stock_of_a_site_is_that_picks_machines(
    site: Site, token: str
) -> None:
    seen = clock.now() - dt.timedelta(minutes=7)
    flavor = Offering.objects.get(site=site).flavor
    SiteStock.objects.create(site=site, flavor=flavor, total=9, claimed=2, seen_at=seen)
    (found,) = (row["capacity"] for row in ask(token, "get", "catalogue/")["items"])
    assert dt.datetime.fromisoformat(found.pop("seen_at")) == seen
    assert found == {"total": 9, "free": 7}


def test_an_order_goes_from_submit_to_approval(tenant: Tenant, site: Site, token: str) -> None:
    answer = send(token, "post", f"{HERE}orders/", body_for(site, justification="To train."), key="k")
    assert answer.status_code == 201
    made = answer.json()
    assert answer["Location"] == f"http://testserver{HERE}orders/{made['id']}/"
    assert (made["state"], made["cluster_name"], made["price_per_hour"]) == ("submitted", "gpu-a", "25.00")
    assert made["pools"] == [
        {"pool": "train", "flavor": "a100-4", "count": 2, "count_before": 0, "price_per_hour": "12.50"}
    ]
    assert (made["plan"], made["cluster"], made["created_by"]["name"]) == ([], None, "Ada")
    make_plan(made["id"])
    planned = ask(token, "get", f"orders/{made['id']}/")
    assert planned["plan"][0].keys() == {"name", "component", "needs", "makes", "changes"}
    assert planned["plan"][0]["changes"] == {"created": 1, "changed": 0, "removed": 0}
    order = Order.objects.get()
    approve_order(actor=operator(), order=order, plan_hash=order.plan_hash, note="Fine.")
    approved = ask(token, "get", f"orders/{made['id']}/")
    assert (approved["state"], approved["decision_note"]) == ("approved", "Fine.")
    assert approved["cluster"] == str(order.cluster_id)
    event = AuditEvent.objects.get(verb="order.submitted")
    assert (event.via, event.target_id) == ("api", made["id"])


def test_nobody_approves_by_api(tenant: Tenant, token: str) -> None:
    order = make_order(tenant)
    for verb in ("approve", "reject"):
        ask(token, "post", f"orders/{order.pk}/{verb}/", {}, status=404)


def test_an_order_is_cancelled_once(tenant: Tenant, token: str) -> None:
    order = make_order(tenant)
    assert ask(token, "post", f"orders/{order.pk}/cancel/")["state"] == "cancelled"
    assert "cancelled" in ask(token, "post", f"orders/{order.pk}/cancel/", status=409)["detail"]


def test_orders_are_filtered_by_state(tenant: Tenant, token: str) -> None:
    first, second = make_order(tenant, name="one", nodes=1), make_order(tenant, name="two", nodes=1)
    Order.objects.filter(pk=first.pk).update(state=OrderState.REJECTED)
    both = [str(second.pk), str(first.pk)]
    for query, expected in (
        ("", both),
        ("?state=open", both[:1]),
        ("?state=ended", both[1:]),
        ("?state=rejected", both[1:]),
        ("?state=failed", []),
    ):
        assert [row["id"] for row in ask(token, "get", f"orders/{query}")["items"]] == expected
    ask(token, "get", "orders/?state=lost", status=400)


def test_the_services_refusals_are_told_by_path(site: Site, token: str) -> None:
    pool = body_for(site)["pools"][0]
    body = body_for(site, name="-", pools=[pool, pool | {"offering": str(uuid.uuid4())}])
    assert ask(token, "post", "orders/", body, key="1", status=400)["errors"].keys() == {"pools.1.offering"}
    body = body_for(site, name="-", pools=[pool, pool | {"count": 9}])
    found = ask(token, "post", "orders/", body, key="2", status=400)
    assert set(found["errors"]) == {"name", "pools.1.name"}
    body = body_for(site, pools=[pool | {"count": 9}])
    assert "pools.0.count" in ask(token, "post", "orders/", body, key="3", status=400)["errors"]
    body = body_for(site) | {"site": str(uuid.uuid4())}
    assert ask(token, "post", "orders/", body, key="4", status=400)["errors"].keys() == {"site"}
    ask(token, "post", "orders/", body_for(site, pools=[]), key="5", status=400)
    ask(token, "post", "orders/", body_for(site, pools=[pool] * 9), key="6", status=400)
    assert not Order.objects.exists()


def test_a_quote_sums_up_and_stores_nothing(tenant: Tenant, site: Site, token: str) -> None:
    Quota.objects.create(tenant=tenant, flavor=make_flavor(), nodes=5)
    offering = str(Offering.objects.get(site=site).pk)
    body = {"pools": [{"offering": offering, "count": 2}, {"offering": offering, "count": 4}]}
    found = ask(token, "post", "orders/quote/", body)
    assert (found["price_per_hour"], found["price_per_month"], found["currency"]) == (
        "75.00",
        "54750.00",
        "EUR",
    )
    assert (found["nodes"], found["gpus"]) == (6, 24)
    (line,) = found["lines"]
    facts = ("flavor", "count", "free", "total", "quota_left", "is_free", "is_allowed")
    assert [line[name] for name in facts] == ["a100-4", 6, 4, 4, 5, False, False]
    assert not Order.objects.exists()
    add_machines(site, make_flavor("cpu-32", gpus=0), 1)
    Offering.objects.filter(flavor__name="cpu-32").update(currency="USD")
    other = str(Offering.objects.get(currency="USD").pk)
    mixed = {"pools": [*body["pools"], {"offering": other, "count": 1}]}
    assert ask(token, "post", "orders/quote/", mixed, status=400)["errors"].keys() == {"pools"}
    Offering.objects.update(active=False)
    assert ask(token, "post", "orders/quote/", body, status=400)["errors"].keys() == {
        "pools.0.offering",
        "pools.1.offering",
    }
