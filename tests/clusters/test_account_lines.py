"""The plan of an order says whose accounts are made, how many, and by which way."""

from __future__ import annotations

import pytest
from django.utils import translation

from clusters import plans
from clusters.drivers.local.identity import IdentityStep
from clusters.drivers.slinky.identity import IdentityStep as SlinkyIdentityStep
from clusters.drivers.slinky.reach import Reach
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.models import Order
from clusters.services.identities import sync
from tenants.models import Role
from tests.builders import make_member, make_tenant
from tests.clusters.builders import approved_order, make_site
from tests.clusters.drivers.lab import make_spec


def accounts_of(order: Order) -> list[str]:
    """The lines of the step, as a tenant reads them."""
    assert order.plan is not None
    (step,) = (one for one in order.plan["steps"] if one["name"] == "identity")
    found: list[str] = plans.for_tenant(order, step)["makes"]
    return found


@pytest.mark.django_db
@pytest.mark.parametrize(("without", "own"), [("accounting", 1), ("", 2)])
def test_a_plan_counts_the_accounts_that_will_be_made(without: str, own: int) -> None:
    tenant = make_tenant()  # with an owner
    make_member(tenant, Role.MEMBER)
    make_member(tenant, Role.VIEWER)  # submits nothing
    site = make_site()
    site.drivers = {concern: name for concern, name in site.drivers.items() if concern != without}
    site.save()
    order = approved_order(tenant, site)
    said = f"accounts in this machine's user files: 2 of members who may submit jobs, {own} of Freehold's own"
    assert accounts_of(order) == [said]
    # as many as are made then
    cluster = order.cluster
    assert cluster is not None
    sync(cluster)
    assert cluster.identities.filter(active=True).count() == 2 + own


@pytest.mark.parametrize(
    ("settings", "way"), [({}, "by files in Slurm's pods"), ({"identity": "sssd"}, "by the site's SSSD")]
)
def test_slinky_says_by_which_way(settings: dict[str, str], way: str) -> None:
    made = SlinkySettings.from_site({"slinky": settings})
    first, *others = SlinkyIdentityStep(made, lambda _: pytest.fail("asked"), Reach(made)).describe(
        make_spec()
    )
    assert first == f"accounts {way}: 1 of members who may submit jobs, 2 of Freehold's own"
    assert len(others) == 3
    assert plans.said(first) == first


def test_a_local_cluster_with_accounts_names_them_too() -> None:
    spec = make_spec(members=2)
    lines = IdentityStep.describe(IdentityStep.__new__(IdentityStep), spec)
    assert lines[0].startswith("accounts in this machine's user files: 2 of members")
    assert [line.split()[2] for line in lines[1:]] == [one.name for one in spec.accounts]
    with translation.override("en"):
        assert plans.said(lines[1]) == f"unix account {spec.accounts[0].name}"
