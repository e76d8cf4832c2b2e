"""A slurmrestd at an address of the site's: trusted by the site's own authority, and by no other."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path

import pytest

from clusters.drivers.slinky import SlinkySettings
from clusters.drivers.slinky.settings import rest_authorities
from clusters.models import Phase, Site
from clusters.services.slurm_access import session_for
from portal.lib.errors import PermanentError
from portal.lib.http import NotSent
from portal.lib.tls import trusting
from tests.builders import make_tenant
from tests.clusters.builders import make_cluster, make_site
from tests.clusters.netris.tls import certificate_for_loopback
from tests.fixtures.http_server import Handler

pytestmark = pytest.mark.django_db


class Rest(Handler):
    """Answers everything."""

    def do_GET(self) -> None:  # noqa: N802 -- http.server's name
        self.say(200, b"{}")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Its address, and the file of its authority."""
    certificate, key, authority = certificate_for_loopback(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = HTTPServer(("127.0.0.1", 0), Rest)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}", authority
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_sites_own_authority_is_trusted(world: object, served: tuple[str, str]) -> None:
    url, authority = served
    cluster = make_cluster(make_tenant(), make_site(), phase=Phase.READY)
    endpoint = cluster.slurm
    endpoint.url = url

    def status(**slinky: str) -> int:
        Site.objects.filter(pk=cluster.site_id).update(settings={"slinky": {"rest_url": url, **slinky}})
        cluster.site.refresh_from_db()
        endpoint.cluster = cluster
        session = session_for(endpoint, timeout=5)
        try:
            return session.send("GET", "/", headers={}).status
        finally:
            session.close()

    assert status(rest_ca_file=authority) == 200
    assert status(rest_ca=Path(authority).read_text()) == 200
    with pytest.raises(NotSent):
        status()
    with pytest.raises(PermanentError) as refused:
        status(rest_ca_file="/nowhere.pem")
    assert "slinky.rest_ca_file" in refused.value.message


def test_an_authority_is_read_when_it_is_needed() -> None:
    settings = {"slinky": {"rest_url": "https://slurm.example.com", "rest_ca": "no certificate"}}
    assert SlinkySettings.from_site(settings).rest_url
    with pytest.raises(PermanentError) as refused:
        rest_authorities(settings)
    assert "slinky.rest_ca" in refused.value.message
    assert (
        rest_authorities({"slinky": {"rest_ca": "x"}}) == b""
    )  # without an address of the site's it is for none
    with pytest.raises(PermanentError):
        trusting(b"-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n")
