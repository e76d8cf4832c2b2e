"""The provider stub, with the portal configured to use it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from tenants.signin import provider
from tests.tenants import oidc_stub


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
