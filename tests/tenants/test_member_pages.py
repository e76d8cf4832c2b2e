"""The members of a tenant in pages: everyone stands on exactly one, in the order of names."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from django.test import Client

from portal.lib.keyset import ROWS as MOST
from tests.builders import make_member, make_tenant, make_user, sign_in

pytestmark = pytest.mark.django_db
ROWS = re.compile(r'<td class="main-cell">([^<]+)</td>')
NEXT = re.compile(r'rel="next" href="([^"]+)"')


def test_every_member_stands_on_one_page(client: Client) -> None:
    ada = make_user("Ada")
    tenant = make_tenant("Aurora", owner=ada)
    for _ in range(MOST):  # whom nobody can tell apart by name, with signs that mean something in addresses
        make_member(tenant, user=make_user("Max & ~ Mia"))
    make_member(tenant, user=make_user("Zoë"))
    make_member(make_tenant("Boreas"), user=make_user("Bob"))
    sign_in(client, ada)
    first = client.get("/t/aurora/members/").content.decode()
    assert "data-region" in first
    assert ROWS.findall(first) == ["Ada", *["Max &amp; ~ Mia"] * (MOST - 1)]
    found = NEXT.search(first)
    assert found is not None
    second = client.get(found[1].replace("&amp;", "&")).content.decode()
    assert ROWS.findall(second) == ["Max &amp; ~ Mia", "Zoë"]
    assert "data-region" not in second
    assert NEXT.search(second) is None
    assert "~" in unquote(found[1])


@pytest.mark.parametrize("after", ["nonsense", "~", "\0~1", "Ada~" + "9" * 40])
def test_what_is_no_place_is_the_beginning(client: Client, after: str) -> None:
    ada = make_user("Ada")
    make_tenant("Aurora", owner=ada)
    page = sign_in(client, ada).get("/t/aurora/members/", {"after": after}).content.decode()
    assert ROWS.findall(page) == ["Ada"]
    assert "data-region" in page
