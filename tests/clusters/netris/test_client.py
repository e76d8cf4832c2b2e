"""Cookies, the envelope, and everything that a controller and what stands before it may answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.clients.netris.client import NetrisClient
from clusters.clients.netris.models import BadAnswer, Named, SessionRefused, Unclear
from clusters.clients.netris.session import Login, Session
from portal.lib.errors import OutsideError, PermanentError, TemporaryError
from portal.lib.http import Outside
from tests.cases import case
from tests.clusters.netris.server import PASSWORD, USER, FakeNetris, Fault, Kind

CLUSTERS = "/api/v2/server-cluster"


def logins(netris: FakeNetris) -> int:
    """How often somebody logged in."""
    return netris.requests.count("POST /api/auth")


def test_one_login_serves_many_calls(netris: FakeNetris, client: NetrisClient) -> None:
    assert [site.name for site in client.sites()] == ["DC1", "DC2"]
    assert client.tenants() == (Named(7, "portal"),)
    assert logins(netris) == 1


def test_an_ended_session_is_renewed_and_the_request_sent_once_more(
    netris: FakeNetris, client: NetrisClient
) -> None:
    client.sites()
    netris.sessions.clear()
    assert client.sites()
    netris.sessions.clear()
    client.remove_acls((99,))  # a change; the controller says that there is no such rule, which is fine
    assert logins(netris) == 3
    assert netris.changes() == ["DELETE /api/acl", "DELETE /api/acl"]


def test_a_session_that_is_never_accepted_is_a_matter_for_a_person(
    netris: FakeNetris, client: NetrisClient
) -> None:
    netris.faults = [Fault("gone", path="/api/v2/sites", times=9)]
    with pytest.raises(SessionRefused):
        client.sites()
    assert logins(netris) == 2


def test_a_refused_password_is_told_to_nobody(netris: FakeNetris) -> None:
    session = Session(Outside(netris.url, authorities=netris.authorities), Login(USER, "wrong-secret"))
    with pytest.raises(SessionRefused) as refused:
        NetrisClient(session).sites()
    told = f"{refused.value!r} {refused.value.message} {refused.value.hint} {session!r} {Login(USER, 'x')!r}"
    assert "wrong-secret" not in told
    assert "'x'" not in told
    netris.password = "wrong-secret"  # the same session, with a password that is right by now
    assert NetrisClient(session).sites()


def test_nothing_is_sent_to_whom_the_authority_does_not_vouch_for(netris: FakeNetris) -> None:
    session = Session(Outside(netris.url), Login(USER, PASSWORD))
    with pytest.raises(TemporaryError) as refused:
        NetrisClient(session).sites()
    assert refused.value.reason == "FabricNotReachable"
    assert netris.requests == []


@case("U16")
@pytest.mark.parametrize("kind", ["html", "redirect"])
def test_a_login_page_makes_a_read_log_in_again(netris: FakeNetris, client: NetrisClient, kind: Kind) -> None:
    client.sites()
    netris.faults = [Fault(kind, path="/api/v2/sites")]
    assert client.sites()
    assert logins(netris) == 2
    netris.faults = [Fault(kind, path="/api/v2/sites", times=2)]
    with pytest.raises(BadAnswer) as refused:
        client.sites()
    assert refused.value.reason == "LoginPage"
    assert "html" not in refused.value.message.lower()


@pytest.mark.parametrize("kind", ["html", "redirect"])
def test_a_login_page_never_makes_a_change_go_out_twice(
    netris: FakeNetris, client: NetrisClient, kind: Kind
) -> None:
    netris.faults = [Fault(kind, "DELETE", "/api/acl")]
    with pytest.raises(BadAnswer):
        client.remove_acls((99,))
    assert netris.changes() == ["DELETE /api/acl"]
    client.remove_acls((99,))
    assert logins(netris) == 2


@case("U16")
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault("error", path=CLUSTERS), "FabricNotAnswering"),
        (Fault("error", path=CLUSTERS, status=429), "FabricNotAnswering"),
        (Fault("unseen", path=CLUSTERS), "FabricNotAnswering"),
        (Fault("half", path="/api/v2/sites"), "BadAnswer"),
        (Fault("partial", path="/api/v2/sites"), "PartialListing"),
        (Fault("no", path=CLUSTERS, message="Request timed out"), "FabricBusy"),
    ],
)
def test_what_is_no_whole_answer_is_temporary(
    netris: FakeNetris, client: NetrisClient, fault: Fault, reason: str
) -> None:
    netris.faults = [fault]
    with pytest.raises(TemporaryError) as refused:
        _ = client.server_clusters() if fault.path == CLUSTERS else client.sites()
    assert refused.value.reason == reason
    assert client.server_clusters() == ()


def test_an_answer_that_takes_too_long_is_temporary(netris: FakeNetris) -> None:
    outside = Outside(netris.url, authorities=netris.authorities, timeout=1)
    client = NetrisClient(Session(outside, Login(USER, PASSWORD)))
    client.sites()
    netris.faults = [Fault("slow", path="/api/v2/sites")]
    with pytest.raises(TemporaryError) as refused:
        client.sites()
    assert refused.value.reason == "FabricNotAnswering"


@case("U38")
@pytest.mark.parametrize(("kind", "done"), [("lost", True), ("unseen", False)])
def test_a_change_without_an_answer_is_unclear_and_not_repeated(
    netris: FakeNetris, client: NetrisClient, kind: Kind, done: bool
) -> None:
    (vpc,) = client.vpcs()
    netris.faults = [Fault(kind, "PUT", "/api/v2/vpc/.*")]
    with pytest.raises(Unclear):
        client.tag_vpc(vpc, ("mine",))
    assert netris.changes() == [f"PUT /api/v2/vpc/{vpc.id}"]
    assert (client.vpcs()[0].tags == {"mine"}) is done


@pytest.mark.parametrize(
    ("message", "kind", "reason"),
    [
        ("Server cluster c-x already exists", TemporaryError, "AlreadyThere"),
        ("ACL name must be unique", TemporaryError, "AlreadyThere"),
        ("VPC is in use by 2 V-Nets", TemporaryError, "StillInUse"),
        ("Another operation is in progress, try again later", TemporaryError, "FabricBusy"),
        ("You do not have permission to edit c-secret-tenant", PermanentError, "Forbidden"),
        ("Invalid prefix 10.0.0.0/99 of c-secret-tenant", PermanentError, "FabricRefused"),
        ("", PermanentError, "FabricRefused"),
    ],
)
def test_a_200_may_be_a_no(
    netris: FakeNetris,
    client: NetrisClient,
    message: str,
    kind: type[OutsideError],
    reason: str,
) -> None:
    (vpc,) = client.vpcs()
    netris.faults = [Fault("no", "PUT", "/api/v2/vpc/.*", message=message)]
    with pytest.raises(kind) as refused:
        client.tag_vpc(vpc, ("mine",))
    assert refused.value.reason == reason
    # tenants read the message, operators the hint
    assert "c-secret-tenant" not in refused.value.message
    assert message in refused.value.hint


def test_removing_what_is_not_there_is_fine(netris: FakeNetris, client: NetrisClient) -> None:
    removals: tuple[Callable[[], None], ...] = (
        lambda: client.remove_server_cluster(4711),
        lambda: client.remove_vpc(4711),
        lambda: client.remove_acls((4711,)),
    )
    for remove in removals:
        remove()
    assert client.server_cluster(4711) is None
    netris.faults = [Fault("no", "DELETE", ".*", message="Forbidden")]
    with pytest.raises(PermanentError):
        client.remove_vpc(4711)
