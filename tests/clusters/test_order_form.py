"""The order form: live sum, rows of pools, bounds, what was typed stays, one order for each form."""

from __future__ import annotations

import re
import uuid

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from clusters.models import Machine, MachineState, Offering, Order, OrderState, Quota, Site
from clusters.services.decisions import reject_order
from tenants.models import Role, Tenant
from tests.builders import make_member, make_tenant, sign_in
from tests.cases import case
from tests.clusters.builders import add_machines, make_flavor, make_order, make_site, operator, owner_of

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
FORM = "/t/aurora-lab/orders/new/"
SUMMARY = "/t/aurora-lab/orders/summary/"


@pytest.fixture
def site() -> Site:
    return make_site()


@pytest.fixture
def browser(client: Client, tenant: Tenant, site: Site) -> Client:
    return sign_in(client, owner_of(tenant))


def key_of(text: str) -> str:
    """The one-time key of a form."""
    found = re.search(r'name="key" value="([^"]+)"', text)
    assert found
    return found[1]


def sent(site: Site, /, **changes: str) -> dict[str, str]:
    offering = Offering.objects.filter(site=site).order_by("flavor__name")[0]
    data = {
        "key": str(uuid.uuid4()),
        "name": "gpu-a",
        "stack": "slurm",
        "site": str(site.pk),
        "justification": "For the <b>paper</b>.",
        "rows": "3",
        "pool-0-name": "train",
        "pool-0-offering": str(offering.pk),
        "pool-0-count": "2",
    }
    return data | {name.replace("__", "-"): value for name, value in changes.items()}


def test_it_opens_with_price_and_capacity_before_any_click(browser: Client) -> None:
    text = browser.get(FORM).content.decode()
    for part in ("a100-4, 4 free", "4 × NVIDIA A100", "€\xa012.50", "a pool has 1 to 64 nodes"):  # noqa: RUF001
        assert part in text
    assert text.count('name="pool-') == 3  # one row of three fields; more at the press of a button
    assert 'name="more"' in text
    assert "€\xa09,125.00" in text  # one node for 730 hours
    assert "stay as they are for the life of the cluster" in text


def test_an_order_is_made_once_however_often_the_form_is_sent(browser: Client, site: Site) -> None:
    data = sent(site)
    first, again = browser.post(FORM, data), browser.post(FORM, data)
    order = Order.objects.get()
    assert first["Location"] == again["Location"] == f"/t/aurora-lab/orders/{order.pk}/"
    text = browser.get(first["Location"]).content.decode()
    assert "For the &lt;b&gt;paper&lt;/b&gt;." in text
    assert "Waits for an operator." in text


def test_several_pools(browser: Client, site: Site) -> None:
    other = add_machines(site, make_flavor("cpu-32", gpus=0), 2, price="1.10")
    data = sent(site, pool__2__name="Prep Work", pool__2__offering=str(other.pk), pool__2__count="1")
    browser.post(FORM, data)
    lines = Order.objects.get().lines.order_by("pk")
    assert [(line.pool, line.count) for line in lines] == [("train", 2), ("prep-work", 1)]


@case("U40")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "This field is required."),
        ({"name": "DEFAULT"}, "means something to Slurm"),
        ({"name": "x" * 41}, "at most 40 characters; this one has 41"),
        ({"name": "x" * 201}, "at most 200 characters"),
        ({"name": "gpu\x00a"}, "Null characters are not allowed."),
        ({"pool__0__name": "a\u2028b"}, "line breaks or other control characters"),
        ({"pool__0__name": ""}, "This field is required."),
        ({"pool__0__count": "0"}, "greater than or equal to 1"),
        ({"pool__0__count": "65"}, "less than or equal to 64"),
        ({"pool__0__count": "two"}, "Enter a whole number."),
        ({"pool__0__count": "5"}, "has 4 nodes of a100-4 in all"),
        ({"pool__0__offering": ""}, "This field is required."),
        ({"pool__0__offering": str(uuid.uuid4())}, "not one of the available choices"),
        ({"pool__1__name": "second"}, "This field is required."),
        ({"site": str(uuid.uuid4())}, "not one of the available choices"),
        ({"stack": "windows"}, "not one of the available choices"),
        ({"key": "x"}, "Open the order form again."),
        ({"justification": "y" * 2001}, "at most 2000 characters"),
    ],
)
def test_what_is_refused_stands_beside_its_field_and_stays(
    browser: Client, site: Site, changes: dict[str, str], message: str
) -> None:
    data = sent(site, **changes)
    answer = browser.post(FORM, data)
    text = answer.content.decode()
    assert answer.status_code == 400
    assert message in text
    assert "What you typed is still here." in text
    assert not Order.objects.exists()
    assert 'value="train"' in text or "pool__0__name" in changes
    assert text.count("This field is required.") <= 4  # rows left blank are no errors
    assert "For the &lt;b&gt;paper" in text or "justification" in changes


@pytest.mark.parametrize("name", ['<img src=x onerror="alert(1)">', 'it\'s "v2"', "🚀"])
def test_odd_names_are_shown_escaped(browser: Client, site: Site, name: str) -> None:
    text = browser.post(FORM, sent(site, name=name, pool__0__count="0")).content.decode()
    assert "<img src=x" not in text
    assert name.split(maxsplit=1)[0].replace("<", "&lt;").replace("'", "&#x27;") in text


def test_rows_can_be_added_without_the_script(browser: Client, site: Site) -> None:
    text = browser.post(FORM, sent(site, more="1")).content.decode()
    assert text.count('name="pool-') == 12
    assert 'value="gpu-a"' in text
    assert not Order.objects.exists()
    most = browser.post(FORM, sent(site, more="1", rows="8")).content.decode()
    assert most.count('name="pool-') == 24
    assert 'name="more"' not in most
    odd = browser.post(FORM, sent(site, check="1", rows="9" * 50)).content.decode()
    assert odd.count('name="pool-') == 3


def test_the_summary_adds_up_what_is_there(browser: Client, site: Site, tenant: Tenant) -> None:
    Quota.objects.create(tenant=tenant, flavor=make_flavor(), nodes=3)
    text = browser.get(SUMMARY, sent(site, name="Team A")).content.decode()
    for part in ("€\xa025.00", "€\xa018,250.00", "4 of 4 nodes free now", "your quota leaves 3", "It fits."):
        assert part in text
    assert "“Team A” will be called <code>team-a</code>." in text
    assert "<html" not in text
    half = browser.get(SUMMARY, sent(site, pool__0__count="", name="")).content.decode()
    assert "Choose a flavor and a number of nodes" in half
    over = browser.get(SUMMARY, sent(site, pool__0__count="4")).content.decode()
    assert "Your quota leaves 3 nodes of a100-4; you ask for 4." in over


def test_it_says_before_the_order_where_home_folders_are_not_shared(
    browser: Client, site: Site, tenant: Tenant
) -> None:
    remark = "Home folders are not shared between nodes."
    assert remark not in browser.get(f"/t/{tenant.slug}/orders/new/").content.decode()
    Site.objects.filter(pk=site.pk).update(drivers={**site.drivers, "slurm": "slinky", "home": ""})
    assert remark in browser.get(f"/t/{tenant.slug}/orders/new/").content.decode()
    asked = {"stack": "slurm", "site": str(site.pk)}
    url = f"/t/{tenant.slug}/orders/summary/"
    assert remark in browser.get(url, asked).content.decode()
    Site.objects.filter(pk=site.pk).update(drivers={**site.drivers, "slurm": "slinky", "home": "slinky"})
    assert remark not in browser.get(url, asked).content.decode()


def test_a_refused_order_keeps_its_sum(browser: Client, tenant: Tenant, site: Site) -> None:
    Quota.objects.create(tenant=tenant, flavor=make_flavor(), nodes=1)
    text = browser.post(FORM, sent(site)).content.decode()
    assert "Your quota allows 1 node of a100-4; left: 1." in text
    assert "€\xa018,250.00" in text
    assert "This field is required." not in text


def test_the_summary_says_what_fits_now(browser: Client, site: Site) -> None:
    Machine.objects.filter(name__endswith="01").update(state=MachineState.BROKEN)
    text = browser.get(SUMMARY, sent(site, pool__0__count="4")).content.decode()
    assert "Only 3 of 4 nodes of a100-4 are free now: 3 would fit at once." in text
    # it may wait for them
    assert browser.post(FORM, sent(site, pool__0__count="4")).status_code == 302


def test_order_again_with_changes(browser: Client, tenant: Tenant, site: Site) -> None:
    order = make_order(tenant, site, planned=False)
    Order.objects.filter(pk=order.pk).update(justification="The first try.")
    reject_order(actor=operator(), order=order, note="Fewer, please.")
    text = browser.get(f"/t/aurora-lab/orders/{order.pk}/").content.decode()
    assert "Fewer, please." in text
    assert f"{FORM}?from={order.pk}" in text
    again = browser.get(f"{FORM}?from={order.pk}").content.decode()
    assert "The first try." in again
    assert 'value="train"' in again
    assert key_of(again) != key_of(browser.get(FORM).content.decode())


def test_order_again_takes_nothing_from_another_tenant(browser: Client, site: Site) -> None:
    other = make_order(make_tenant("Other Lab"), site, planned=False)
    assert browser.get(f"{FORM}?from={other.pk}").status_code == 404
    assert browser.get(f"{FORM}?from=nonsense").status_code == 404


def test_without_offerings_it_says_so(browser: Client) -> None:
    Offering.objects.update(active=False)
    assert "Nothing is offered at present" in browser.get(FORM).content.decode()


def test_members_cannot_open_it(client: Client, tenant: Tenant, site: Site) -> None:
    sign_in(client, make_member(tenant, Role.MEMBER))
    assert client.get(FORM).status_code == 403
    assert client.post(FORM, sent(site)).status_code == 403
    assert "Order a cluster</a>" not in client.get("/t/aurora-lab/").content.decode()


def test_it_asks_the_database_no_more_for_more_rows(
    browser: Client, site: Site, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    browser.get(FORM)
    with django_assert_max_num_queries(1000) as few:
        browser.get(FORM)
    for number in range(5):
        add_machines(site, make_flavor(f"flavor-{number}"), 1)
    with django_assert_max_num_queries(1000) as many:
        browser.get(FORM)
    assert len(many) <= len(few)


@case("U36")
def test_cancelling(browser: Client, tenant: Tenant, site: Site) -> None:
    order = make_order(tenant, site, planned=False)
    url = f"/t/aurora-lab/orders/{order.pk}/cancel/"
    assert "Cancel the order of gpu-a?" in browser.get(url).content.decode()
    order.refresh_from_db()
    assert order.state == OrderState.SUBMITTED
    assert "is cancelled" in browser.post(url, follow=True).content.decode()
    assert browser.post(url).status_code == 409
