"""Saved views: kept as they are shown, for the person who saved them alone."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from django.test import Client

from clusters.models import Cluster
from jobs.models import SavedView
from jobs.services import saved_views as views
from portal.lib.errors import BadInput, WrongState
from tenants.models import AuditEvent, Role, Tenant, User
from tests.builders import actor_for, make_member, make_tenant, sign_in
from tests.cases import case
from tests.jobs.builders import make_view
from tests.jobs.names import ODD_NAMES

pytestmark = pytest.mark.django_db
JOBS = "/t/aurora-lab/jobs/"


def save(client: Client, name: str, query: str, **more: str) -> str:
    """Where it leads."""
    answer = client.post(f"{JOBS}views/", {"name": name, "query": query, **more})
    assert answer.status_code == 302
    return str(answer["Location"])


def test_a_view_opens_the_list_as_it_was_and_is_marked(client: Client, alice: User, cluster: Cluster) -> None:
    sign_in(client, alice)
    shown = client.get(f"{JOBS}?sort=name&junk=1&state=failed&column=id&column=qos&after=x").content.decode()
    kept = re.search(r'name="query" value="([^"]+)"', shown)
    assert kept
    assert kept[1] == "state=failed&amp;sort=name&amp;columns=id%2Cqos"
    url = save(client, "my failures", kept[1].replace("&amp;", "&"))
    page = client.get(url).content.decode()
    assert re.search(r'class="tag" href="[^"]+" aria-current="page">my failures<', page)
    assert '<option value="failed" selected>' in page
    assert AuditEvent.objects.filter(verb="view.saved").count() == 1


def test_a_view_of_a_queue_stands_above_that_queue_only(
    client: Client, alice: User, cluster: Cluster
) -> None:
    sign_in(client, alice)
    url = save(client, "waiting", "state=pending&who=everyone", cluster=str(cluster.pk))
    assert url == f"/t/aurora-lab/clusters/{cluster.pk}/queue/?state=pending"
    assert ">waiting<" in client.get(url).content.decode()
    assert ">waiting<" not in client.get(JOBS).content.decode()


def test_the_same_name_replaces_and_another_renames(client: Client, alice: User, cluster: Cluster) -> None:
    sign_in(client, alice)
    save(client, "one", "state=failed")
    save(client, " one ", "state=running")
    view = SavedView.objects.get()
    assert view.query == "state=running"
    client.post(f"{JOBS}views/{view.pk}/", {"name": "two"})
    page = client.get(f"{JOBS}views/").content.decode()
    assert ">two<" in page
    client.post(f"{JOBS}views/{view.pk}/delete/")
    assert "No saved views yet" in client.get(f"{JOBS}views/").content.decode()
    assert list(
        AuditEvent.objects.filter(verb__startswith="view.").values_list("verb", flat=True).order_by("id")
    )[-2:] == ["view.renamed", "view.deleted"]


def test_a_name_is_taken_once(client: Client, tenant: Tenant, alice: User, cluster: Cluster) -> None:
    actor = actor_for(alice, tenant)
    first = make_view(tenant, alice, name="first")
    make_view(tenant, alice, name="second")
    with pytest.raises(BadInput):
        views.rename_view(actor=actor, view=first, name="second")
    answer = sign_in(client, alice).post(f"{JOBS}views/{first.pk}/", {"name": "second"}, follow=True)
    assert "Another of your views has this name" in answer.content.decode()


def test_views_are_ones_own(client: Client, tenant: Tenant, alice: User, cluster: Cluster) -> None:
    view = make_view(tenant, alice)
    for role in (Role.OWNER, Role.MEMBER):
        other = make_member(tenant, role)
        sign_in(client, other)
        assert view.name not in client.get(f"{JOBS}views/").content.decode()
        assert client.post(f"{JOBS}views/{view.pk}/delete/").status_code == 403
    sign_in(client, make_member(make_tenant("Other", owner=None), Role.OWNER))
    assert client.post(f"/t/other/jobs/views/{view.pk}/delete/").status_code == 404
    sign_in(client, alice)
    assert client.post(f"{JOBS}views/{view.pk}/delete/").status_code == 302
    assert not SavedView.objects.exists()


@case("U03")
@pytest.mark.parametrize("name", [name for name in ODD_NAMES if len(name) <= views.LONGEST_NAME])
def test_any_name_is_kept_and_escaped(client: Client, alice: User, cluster: Cluster, name: str) -> None:
    sign_in(client, alice)
    page = client.get(save(client, name, f"text={quote(name)}")).content.decode()
    assert "<img src=x" not in page
    assert SavedView.objects.get().name == name


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\u0007b"])
def test_a_name_that_cannot_be_shown_is_refused(
    client: Client, alice: User, cluster: Cluster, name: str
) -> None:
    sign_in(client, alice)
    assert save(client, "good", "state=failed")
    answer = client.post(f"{JOBS}views/", {"name": name, "query": ""}, follow=True)
    told = answer.content.decode()
    assert any(words in told for words in ("Enter a name", "control character", "At most 60 characters"))
    assert SavedView.objects.count() == 1


def test_nobody_keeps_more_than_fifty(tenant: Tenant, alice: User, cluster: Cluster) -> None:
    actor = actor_for(alice, tenant)
    for number in range(views.MOST_VIEWS):
        views.save_view(actor=actor, name=f"view {number}", query="")
    with pytest.raises(WrongState):
        views.save_view(actor=actor, name="one more", query="")
    assert views.save_view(actor=actor, name="view 3", query="state=failed").query == "state=failed"
