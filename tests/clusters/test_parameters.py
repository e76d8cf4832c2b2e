"""The order form of a site whose control planes come of a template: learnt, asked, kept and planned."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from clusters.clients.kube.errors import NotReachable
from clusters.clients.kube.models import Kind, Manifest, Ref
from clusters.kube import servers
from clusters.models import Offering, Order, Site, SiteFacts
from clusters.provisioning.context import cluster_spec
from clusters.provisioning.plan import make_plan
from clusters.provisioning.registry import FACTORIES
from clusters.services.decisions import approve_order
from clusters.services.plans import inputs_of
from clusters.tasks import learn_site, learn_sites
from tenants.models import Tenant
from tests.api.calls import make_token, send
from tests.builders import sign_in
from tests.clusters.builders import make_site, operator, owner_of
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db
PARAMETERS = [
    {
        "variable": "k8s.version",
        "label": "Kubernetes",
        "type": "string",
        "options": ["1.34", "1.35"],
        "defaultValue": "1.34",
    },
    {"variable": "contact", "label": "Contact", "description": "Who is asked.", "required": True},
    {"variable": "replicas", "label": "Replicas", "type": "number", "min": 1, "max": 3, "defaultValue": "1"},
    {"variable": "audit", "label": "Audit log", "type": "boolean", "defaultValue": "true"},
    {"variable": "host", "label": "Host", "required": True},  # the site gives it
]


class Platform:
    """What the Platform would answer."""

    def __init__(self) -> None:
        self.template: dict[str, Any] | None = {
            "metadata": {"name": "gpu"},
            "spec": {"displayName": "GPU", "parameters": PARAMETERS, "template": {"secret": "not kept"}},
        }
        self.is_down = False

    def get(self, ref: Ref) -> Manifest | None:
        """The template; no licence is told."""
        if self.is_down:
            raise NotReachable
        return self.template if ref.kind.kind == "VirtualClusterTemplate" and ref.name == "gpu" else None

    def list(self, kind: Kind) -> tuple[Manifest, ...]:
        """All templates."""
        return (self.template,) if self.template else ()


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    played = Platform()
    monkeypatch.setattr(servers, "PLATFORM", lambda ctx: played)
    return played


@pytest.fixture
def site(world: World, platform: Platform) -> Iterator[Site]:
    made = make_site()
    made.drivers |= {"control_plane": "vcluster_platform"}
    made.settings = {"vcluster_platform": {"template": "gpu", "parameters": {"host": "{cluster}.example"}}}
    made.save()
    before = FACTORIES.get("vcluster_platform")
    FACTORIES["vcluster_platform"] = lambda wanted: ()  # its steps are no part of these tests
    yield made
    if before is not None:
        FACTORIES["vcluster_platform"] = before


def sent(site: Site, **parameters: str) -> dict[str, str]:
    return {
        "key": str(uuid.uuid4()),
        "name": "gpu-a",
        "stack": "slurm",
        "site": str(site.pk),
        "rows": "1",
        "pool-0-name": "train",
        "pool-0-offering": str(Offering.objects.get(site=site).pk),
        "pool-0-count": "2",
        **{f"parameter-{site.slug}-{name}": value for name, value in parameters.items()},
    }


def test_a_worker_learns_what_is_asked_and_keeps_it_over_a_failure(site: Site, platform: Platform) -> None:
    learn_site(str(site.pk))
    facts = SiteFacts.objects.get(site=site)
    assert [one["variable"] for one in facts.template["spec"]["parameters"]][:2] == ["k8s.version", "contact"]
    assert facts.fixed == ["host"]
    assert "secret" not in str(facts.template)
    platform.is_down = True
    learn_site(str(site.pk))
    facts = SiteFacts.objects.get(site=site)
    assert facts.trouble.startswith("KubeNotReachable")
    assert len(facts.template["spec"]["parameters"]) == 5
    site.drivers.pop("control_plane")
    site.save()
    learn_sites()  # also finds what is to be forgotten
    learn_site(str(site.pk))
    assert not SiteFacts.objects.exists()


def test_the_form_asks_what_the_template_asks_and_the_site_does_not_give(
    client: Client, tenant: Tenant, site: Site
) -> None:
    browser = sign_in(client, owner_of(tenant))
    form = f"/t/{tenant.slug}/orders/new/"
    assert "Options at Site North" not in browser.get(form).content.decode()
    early = browser.post(form, sent(site))
    assert early.status_code == 400
    assert "is not known yet" in early.content.decode()
    learn_site(str(site.pk))
    text = browser.get(form).content.decode()
    for part in ("Options at Site North", "Kubernetes", "Who is asked.", "Replicas", "Audit log"):
        assert part in text
    assert ">Host<" not in text


def test_what_the_template_refuses_stands_beside_its_field(
    client: Client, tenant: Tenant, site: Site
) -> None:
    learn_site(str(site.pk))
    browser = sign_in(client, owner_of(tenant))
    form = f"/t/{tenant.slug}/orders/new/"
    refused = browser.post(form, sent(site, p0="1.34", p1="a: {b}", p2="9", p3="on"))
    assert refused.status_code == 400
    text = refused.content.decode()
    assert "Only letters, digits" in text
    assert "At most 3." in text
    assert 'value="a: {b}"' in text  # what was typed stays
    assert not Order.objects.exists()


def test_an_order_keeps_what_was_chosen_in_plan_cluster_and_pages(
    client: Client, tenant: Tenant, site: Site
) -> None:
    learn_site(str(site.pk))
    browser = sign_in(client, owner_of(tenant))
    assert (
        browser.post(f"/t/{tenant.slug}/orders/new/", sent(site, p0="1.35", p1="ops", p2="2")).status_code
        == 302
    )
    order = Order.objects.get()
    # a box that is not ticked is a no, though the template says yes
    wanted = {"k8s.version": "1.35", "contact": "ops", "replicas": "2", "audit": "false"}
    assert order.parameters == wanted
    text = browser.get(f"/t/{tenant.slug}/orders/{order.pk}/").content.decode()
    assert "<dt>Kubernetes</dt><dd>1.35</dd>" in text
    make_plan(str(order.pk))
    order.refresh_from_db()
    before = inputs_of(order)
    order.parameters = {**wanted, "replicas": "3"}
    assert inputs_of(order) != before  # another plan
    order.refresh_from_db()
    actor = operator()
    assert actor.user is not None
    review = sign_in(Client(), actor.user).get(f"/operations/clusters/order/{order.pk}/change/")
    assert "<dt>Contact</dt><dd>ops</dd>" in review.content.decode()
    approved = approve_order(actor=actor, order=order, plan_hash=order.plan_hash)
    assert approved.cluster is not None
    assert dict(cluster_spec(approved.cluster).parameters) == wanted
    again = browser.get(f"/t/{tenant.slug}/orders/new/?from={order.pk}").content.decode()
    assert 'value="ops"' in again
    assert '<option value="1.35" selected>' in again


def test_a_template_that_the_site_cannot_serve_takes_no_orders_and_says_why_to_operators(
    client: Client, tenant: Tenant, site: Site, platform: Platform
) -> None:
    assert platform.template is not None
    platform.template["spec"] = {"parameters": [{"variable": "key", "type": "password", "required": True}]}
    learn_site(str(site.pk))
    browser = sign_in(client, owner_of(tenant))
    refused = browser.post(f"/t/{tenant.slug}/orders/new/", sent(site))
    assert "Nothing can be ordered here at present." in refused.content.decode()
    assert "settings do not give" not in refused.content.decode()
    actor = operator()
    assert actor.user is not None
    page = sign_in(Client(), actor.user).get(f"/operations/clusters/site/{site.pk}/change/")
    assert "settings do not give" in page.content.decode()


def test_the_api_lists_and_checks_them_too(tenant: Tenant, site: Site) -> None:
    learn_site(str(site.pk))
    token, here = make_token(owner_of(tenant), tenant), f"/api/v1/t/{tenant.slug}/"
    (offering,) = send(token, "get", f"{here}catalogue/").json()["items"]
    asked = {one["name"]: one for one in offering["site"]["parameters"]}
    assert list(asked) == ["k8s.version", "contact", "replicas", "audit"]
    assert (asked["contact"]["needed"], asked["k8s.version"]["preset"]) == (True, "1.34")
    body = {
        "name": "gpu-a",
        "site": str(site.pk),
        "pools": [{"name": "train", "offering": offering["id"], "count": 1}],
        "parameters": {"host": "mine", "replicas": "7"},
    }
    refused = send(token, "post", f"{here}orders/", body, key="1")
    assert refused.status_code == 400
    assert set(refused.json()["errors"]) == {"parameters.host", "parameters.replicas", "parameters.contact"}
    made = send(token, "post", f"{here}orders/", body | {"parameters": {"contact": "ops"}}, key="2")
    assert made.status_code == 201
    assert made.json()["parameters"]["k8s.version"] == "1.34"  # as agreed, if the template changes later
