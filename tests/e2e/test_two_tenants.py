"""Two tenants at once: neither finds anything of the other, and each cluster believes its own tokens only."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import requests
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from clusters.clients.slurmrest import tokens
from tests.e2e.hands import Hands
from tests.e2e.supervised import Portal

SLEEPER = "#!/bin/bash\nsleep 120\n"
NOT_VISIBLE = 4404
NOT_SIGNED_IN = 4401


@dataclass(frozen=True, slots=True)
class Side:
    """One tenant with its cluster, a running job and its owner's cookie."""

    subject: str
    slug: str
    cluster: str
    name: str  # external name of the cluster
    job: str
    cookie: str

    def addresses(self) -> list[str]:
        """Every page that shows something of this tenant."""
        cluster, job = f"clusters/{self.cluster}/", f"jobs/{self.job}/"
        pages = ["", "orders/", "orders/new/", "clusters/", "jobs/", "members/", "audit/", cluster, job]
        pages += [f"{cluster}{tab}/" for tab in ("nodes", "steps", "events", "access", "settings", "queue")]
        pages += [f"{cluster}jobs/new/", f"{job}output/", f"{job}cancel/"]
        return [f"/t/{self.slug}/{page}" for page in pages]

    def topics(self) -> list[str]:
        """What those pages subscribe to."""
        return [f"cluster:{self.cluster}", f"queue:{self.cluster}", f"job:{self.job}"]


@pytest.fixture(scope="module")
def sides(hands: Hands) -> tuple[Side, Side]:
    """Both clusters are built at the same time."""
    names = [(subject, f"{subject}-{uuid.uuid4().hex[:6]}") for subject in ("dora", "emil")]
    clusters = {}
    for subject, slug in names:
        hands.do("found", subject=subject, slug=slug)
        clusters[slug] = hands.approved(subject, slug, "same-name")
    found = []
    for subject, slug in names:
        name = hands.wait_for(clusters[slug], "ready")["name"]
        fields = {"name": f"secret-of-{subject}"}
        job = hands.do("job", subject=subject, cluster=clusters[slug], script=SLEEPER, fields=fields)["job"]
        cookie = hands.do("cookie", subject=subject)["sessionid"]
        found.append(Side(subject, slug, clusters[slug], name, job, cookie))
    return found[0], found[1]


def status(portal: Portal, address: str, cookie: str) -> int:
    """Of one page."""
    answer = requests.get(
        portal.url + address, cookies={"sessionid": cookie}, allow_redirects=False, timeout=60
    )
    return answer.status_code


@contextmanager
def socket(portal: Portal, slug: str, topic: str, cookie: str) -> Iterator[ClientConnection]:
    """The page's socket, as a browser opens it."""
    address = f"ws://127.0.0.1:{portal.web_port}/ws/t/{slug}/?topic={topic}"
    with connect(
        address,
        origin=Origin(portal.url),
        additional_headers={"Cookie": f"sessionid={cookie}"},
        max_size=None,
        open_timeout=60,
    ) as open_one:
        yield open_one


def close_code(portal: Portal, slug: str, topic: str, cookie: str) -> int | None:
    """With which code the portal closes the socket; None when it sends a fragment instead."""
    with socket(portal, slug, topic, cookie) as open_one:
        try:
            open_one.recv(timeout=60)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 0
    return None


def test_a_stranger_finds_no_page_of_the_other_tenant(portal: Portal, sides: tuple[Side, Side]) -> None:
    mine, other = sides
    for address in mine.addresses():
        assert status(portal, address, mine.cookie) == 200, address
        assert status(portal, address, other.cookie) == 404, address
        assert status(portal, address.replace(mine.slug, other.slug), other.cookie) in {200, 404}, address


def test_a_stranger_finds_no_thing_of_the_other_under_the_own_address(
    portal: Portal, sides: tuple[Side, Side]
) -> None:
    mine, other = sides
    for address in mine.addresses():
        if mine.cluster in address or mine.job in address:
            moved = address.replace(f"/t/{mine.slug}/", f"/t/{other.slug}/")
            assert status(portal, moved, other.cookie) == 404, moved


def test_a_strangers_page_holds_no_name_of_the_other(portal: Portal, sides: tuple[Side, Side]) -> None:
    mine, other = sides
    for page in ("", "jobs/?who=everyone", f"clusters/{other.cluster}/queue/", "audit/"):
        text = requests.get(
            f"{portal.url}/t/{other.slug}/{page}", cookies={"sessionid": other.cookie}, timeout=60
        ).text
        assert other.slug in text
        assert f"secret-of-{mine.subject}" not in text
        assert mine.slug not in text
        assert mine.name not in text


def test_a_strangers_socket_carries_no_topic_of_the_other(portal: Portal, sides: tuple[Side, Side]) -> None:
    mine, other = sides
    for topic in mine.topics():
        assert close_code(portal, mine.slug, topic, mine.cookie) is None, topic
        assert close_code(portal, mine.slug, topic, other.cookie) in {NOT_SIGNED_IN, NOT_VISIBLE}, topic
        assert close_code(portal, other.slug, topic, other.cookie) == NOT_VISIBLE, topic
        assert close_code(portal, mine.slug, topic, "nobody") == NOT_SIGNED_IN, topic


def test_a_token_is_believed_by_its_own_cluster_only(portal: Portal, sides: tuple[Side, Side]) -> None:
    keys = [(portal.data / "clusters" / side.name / "keys" / "jwt.key").read_bytes() for side in sides]
    for own in (0, 1):
        account = portal.value(
            "SELECT name FROM clusters_slurmidentity WHERE cluster_id = %s AND kind = 'member'",
            sides[own].cluster,
        )
        token = tokens.mint(str(account), keys[own])
        assert _queue(portal, sides[own], str(account), token).json()["jobs"]
        refused = _queue(portal, sides[1 - own], str(account), token)
        assert refused.status_code >= 400
        assert not refused.json().get("jobs")


def _queue(portal: Portal, side: Side, account: str, token: str) -> requests.Response:
    url, version = portal.rows(
        "SELECT url, api_version FROM clusters_slurmendpoint WHERE cluster_id = %s", side.cluster
    )[0]
    headers = {"X-SLURM-USER-NAME": account, "X-SLURM-USER-TOKEN": token}
    return requests.get(f"{url}/slurm/{version}/jobs", headers=headers, timeout=60)


def test_many_looks_at_once_do_not_mix(portal: Portal, sides: tuple[Side, Side]) -> None:
    def look(number: int) -> bool:
        side, other = sides[number % 2], sides[1 - number % 2]
        text = requests.get(
            f"{portal.url}/t/{side.slug}/jobs/", cookies={"sessionid": side.cookie}, timeout=60
        ).text
        return f"secret-of-{side.subject}" in text and f"secret-of-{other.subject}" not in text

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(look, range(40)))
