"""Filters, pages and exports of the audit trail, for a tenant's admins and for operators."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from portal.lib import clock
from portal.lib.cells import csv_line, inert
from tenants import trail
from tenants.commands import command
from tenants.models import AuditEvent, Tenant, User
from tenants.templatetags.audit import who
from tests.builders import actor_for, make_member, make_operator, make_tenant, make_user, sign_in
from tests.cases import case

pytestmark = pytest.mark.django_db
PAGE, EXPORT = "/t/aurora/audit/", "/t/aurora/audit/export/"
OPERATIONS = "/operations/tenants/auditevent/"


def act(person: User, tenant: Tenant, verb: str, **detail: object) -> AuditEvent:
    with command(verb, actor=actor_for(person, tenant), target=tenant, detail=detail):
        pass
    return AuditEvent.objects.latest("id")


def many(person: User, tenant: Tenant, count: int) -> None:
    """Rows as the command writes them, in one go."""
    AuditEvent.objects.bulk_create(
        AuditEvent(
            tenant=tenant,
            verb="member.left",
            actor_kind="person",
            actor_user=person,
            actor_label=str(person),
            via="web",
        )
        for _ in range(count)
    )


def body(answer: Any) -> str:
    assert isinstance(answer, StreamingHttpResponse)
    return b"".join(answer).decode()


def table(answer: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body(answer), newline="")))


def shown(client: Client, url: str = PAGE, **query: str) -> list[str]:
    return [event.verb for event in client.get(url, query).context["events"]]


@pytest.mark.parametrize("url", [PAGE, OPERATIONS])
def test_each_filter_leaves_what_fits(client: Client, ada: User, tenant: Tenant, url: str) -> None:
    rui = make_member(tenant, "admin", user=make_user("Rui", subject="rui-1"))  # a random one may hold "ada"
    act(ada, tenant, "order.approved")
    act(rui, tenant, "order.rejected")
    with command("member.removed", actor=actor_for(ada, tenant), target=tenant.memberships.get(user=rui)):
        pass
    sign_in(client, ada if url == PAGE else make_operator())
    assert shown(client, url) == ["member.removed", "order.rejected", "order.approved"]
    assert shown(client, url, who="rui") == ["order.rejected"]
    assert shown(client, url, verb="order") == ["order.rejected", "order.approved"]
    assert shown(client, url, verb="order.approved") == ["order.approved"]
    assert shown(client, url, target="Rui in") == ["member.removed"]
    assert shown(client, url, target=str(tenant.pk)) == ["order.rejected", "order.approved"]
    today, tomorrow = clock.now().date(), clock.now().date() + dt.timedelta(days=1)
    assert len(shown(client, url, since=str(today), until=str(today))) == 3
    assert shown(client, url, since=str(tomorrow)) == []
    assert shown(client, url, until=str(today - dt.timedelta(days=1))) == []
    assert shown(client, url, who="ada", verb="order.rejected") == []


@pytest.mark.parametrize(
    "query", [{"verb": "rm -rf"}, {"since": "yesterday"}, {"since": "2026-02-02", "until": "2026-02-01"}]
)
def test_what_cannot_be_asked_is_said_beside_the_field(
    client: Client, ada: User, tenant: Tenant, query: dict[str, str]
) -> None:
    sign_in(client, ada)
    assert client.get(PAGE).status_code == HTTPStatus.OK
    assert client.get(PAGE, query).status_code == HTTPStatus.BAD_REQUEST
    assert client.post(EXPORT, query).status_code == HTTPStatus.BAD_REQUEST
    assert not AuditEvent.objects.filter(verb="audit.exported").exists()


def test_operators_choose_a_tenant_and_members_cannot(client: Client, ada: User, tenant: Tenant) -> None:
    boreas = make_tenant("Boreas", owner=(olga := make_user("Olga")))
    act(ada, tenant, "order.approved")
    act(olga, boreas, "order.rejected")
    operator = sign_in(Client(), make_operator())
    assert shown(operator, OPERATIONS) == ["order.rejected", "order.approved"]
    assert shown(operator, OPERATIONS, tenant="boreas") == ["order.rejected"]
    sign_in(client, ada)
    assert shown(client, PAGE, tenant="boreas") == ["order.approved"]


@pytest.mark.parametrize("url", [PAGE, OPERATIONS])
def test_pages_follow_the_key_and_keep_the_filters(
    client: Client, ada: User, tenant: Tenant, url: str
) -> None:
    many(ada, tenant, 120)
    act(ada, tenant, "order.approved")
    sign_in(client, ada if url == PAGE else make_operator())
    seen: list[int] = []
    query: dict[str, Any] = {"verb": "member.left"}
    while True:
        page = client.get(url, query)
        seen += [event.pk for event in page.context["events"]]
        many(ada, tenant, 1)  # newer ones do not move the pages
        if page.context["older"] is None:
            break
        assert f"verb=member.left&amp;before={page.context['older']}" in page.content.decode()
        query["before"] = page.context["older"]
    assert len(seen) == 120
    assert seen == sorted(set(seen), reverse=True)


@pytest.mark.parametrize("url", [PAGE, OPERATIONS])
def test_a_page_needs_the_same_queries_for_many(client: Client, ada: User, tenant: Tenant, url: str) -> None:
    sign_in(client, ada if url == PAGE else make_operator())
    many(ada, tenant, 3)

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url).status_code == HTTPStatus.OK
        return [query["sql"] for query in captured]

    queries()  # notes when the person was seen
    few = queries()
    many(ada, tenant, 200)
    found = queries()
    assert len(found) == len(few)
    assert not any("COUNT(" in query and "auditevent" in query for query in found)
    assert not any("OFFSET" in query for query in found)


@case("U03")
def test_a_csv_has_all_that_fits_and_no_formula(client: Client, ada: User, tenant: Tenant) -> None:
    odd = make_user('=HYPERLINK("http://evil.example";"数据")', email="f@example.org")
    make_member(tenant, user=odd)
    act(odd, tenant, "order.approved", note="+1", names=["a,b", 'say "x"\r\nnext'])
    act(ada, tenant, "order.rejected")
    sign_in(client, ada)
    answer = client.post(EXPORT, {"format": "csv", "verb": "order.approved"})
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="audit-aurora-')
    (row,) = table(answer)
    assert row["who"].startswith("'=HYPERLINK(")
    assert (row["verb"], row["did"], row["tenant"]) == ("order.approved", "approved the order", "aurora")
    assert json.loads(row["details"]) == {"note": "+1", "names": ["a,b", 'say "x"\r\nnext']}
    assert row["from"] == "192.0.2.7"


def test_json_lines_hold_the_facts_as_they_are(client: Client, ada: User, tenant: Tenant) -> None:
    event = act(ada, tenant, "order.approved", note="=1")
    sign_in(client, ada)
    answer = client.post(EXPORT, {"format": "json"})
    assert answer["Content-Type"] == "application/x-ndjson"
    (line,) = [json.loads(line) for line in body(answer).splitlines()]
    assert (line["id"], line["verb"], line["details"]) == (event.pk, "order.approved", {"note": "=1"})
    assert dt.datetime.fromisoformat(line["at"]) == event.at


def test_an_export_is_recorded_with_what_was_asked_for(client: Client, ada: User, tenant: Tenant) -> None:
    newest = act(ada, tenant, "order.approved")
    sign_in(client, ada)
    assert len(table(client.post(EXPORT, {"who": "ada"}))) == 1
    event = AuditEvent.objects.latest("id")
    assert (event.verb, event.tenant, event.actor_user) == ("audit.exported", tenant, ada)
    assert event.detail == {"form": "csv", "up_to": newest.pk, "who": "ada"}
    assert client.get(EXPORT).status_code == HTTPStatus.METHOD_NOT_ALLOWED


def test_an_export_streams_in_batches_whatever_its_length(
    client: Client, ada: User, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail, "BATCH", 100)
    many(ada, tenant, 450)
    sign_in(client, ada)
    answer: Any = client.post(EXPORT, {"format": "json"})
    many(ada, tenant, 50)  # later than the export: not in it
    with CaptureQueriesContext(connection) as captured:
        chunks: Iterator[bytes] = iter(answer.streaming_content)
        first = next(chunks)
        assert len(captured) == 1  # nothing is read before it is needed
        rest = list(chunks)
    assert [chunk.count(b"\n") for chunk in (first, *rest)] == [100, 100, 100, 100, 50]
    assert all("LIMIT 100" in query["sql"] for query in captured)


def test_an_operators_export_of_a_tenant_stands_in_its_trail(
    client: Client, ada: User, tenant: Tenant
) -> None:
    boreas = make_tenant("Boreas", owner=(olga := make_user("Olga")))
    act(ada, tenant, "order.approved")
    act(olga, boreas, "order.rejected")
    url = f"{OPERATIONS}export/"
    operator = sign_in(Client(), make_operator())
    assert [row["tenant"] for row in table(operator.post(url))] == ["boreas", "aurora"]
    assert AuditEvent.objects.latest("id").tenant is None
    assert [row["tenant"] for row in table(operator.post(url, {"tenant": "boreas"}))] == ["boreas"]
    event = AuditEvent.objects.latest("id")
    assert (event.tenant, event.actor_kind, event.via) == (boreas, "operator", "admin")
    assert operator.post(url, {"tenant": "nothing"}).status_code == HTTPStatus.NOT_FOUND
    assert operator.get(url).status_code == HTTPStatus.METHOD_NOT_ALLOWED
    sign_in(client, ada)
    assert client.post(url, follow=True).status_code == HTTPStatus.FORBIDDEN


@pytest.mark.django_db(transaction=True)
async def test_under_asgi_it_streams_too() -> None:
    """As in production: the first chunk leaves before the last is read."""

    def prepare() -> tuple[AsyncClient, User, Tenant]:
        ada = make_user("Ada")
        tenant = make_tenant("Aurora", owner=ada)
        many(ada, tenant, 1200)
        client = AsyncClient()
        client.cookies = sign_in(Client(), ada).cookies
        return client, ada, tenant

    client, _, _ = await database_sync_to_async(prepare)()
    answer: Any = await client.post(EXPORT, {"format": "csv"})
    assert answer.status_code == HTTPStatus.OK
    assert isinstance(answer.asgi_request, ASGIRequest)
    assert answer.is_async
    chunks = [chunk async for chunk in answer.streaming_content]
    assert [chunk.count(b"\r\n") for chunk in chunks] == [1, 500, 500, 200]


@pytest.mark.parametrize("start", [*"=+-@\t\r\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_cell_that_a_spreadsheet_would_calculate_is_made_inert(start: str) -> None:
    assert inert(f"{start}1+1") == f"'{start}1+1"
    assert inert(f"a{start}1") == f"a{start}1"


def test_a_line_is_quoted_and_holds_no_nul() -> None:
    assert inert("") == ""
    assert csv_line(["a", 'b"c', "d,e", "\0=1", 7]) == 'a,"b""c","d,e",\'=1,7\r\n'


def test_who_did_it_reads_as_a_person_and_keeps_the_issuer_at_hand() -> None:
    plain = "mia (mia at http://127.0.0.1:8400)"
    assert who(plain) == f'<span title="{plain}">mia</span>'
    other = "Ada <b> (00u1 at https://idp.example.org), API token nightly"
    told = who(other)
    assert "Ada &lt;b&gt;" in told
    assert '<span class="muted small">00u1, API token nightly</span>' in told
    assert "https://idp.example.org" in told
    assert who("Freehold") == "Freehold"
