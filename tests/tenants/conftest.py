"""The stubs of provider and mail server, with the portal configured to use them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from tenants.signin import provider
from tests.tenants import oidc_stub, smtp_stub
from tests.tenants.mailing import use


@pytest.fixture
def stub(settings: Settings) -> Iterator[oidc_stub.Stub]:
    """A fresh provider on a port of its own."""
    with oidc_stub.running() as running:
        settings.OIDC = {
            **settings.OIDC,
            "issuer": running.issuer,
            "client_id": oidc_stub.CLIENT_ID,
            "client_secret": oidc_stub.CLIENT_SECRET,
        }
        settings.OIDC_TRUSTED_ISSUERS = [running.issuer]
        provider.forget()
        yield running
        provider.forget()


@pytest.fixture
def smtp(settings: Settings) -> Iterator[smtp_stub.Stub]:
    """A server of our own, with the portal configured to send through it."""
    with smtp_stub.running() as stub:
        use(settings, f"smtp+plain://127.0.0.1:{stub.port}")
        yield stub
