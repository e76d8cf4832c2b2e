"""The people of most tests: Ada, the tenant that she owns, and her token for the API."""

from __future__ import annotations

import pytest

from tenants.models import Tenant, User
from tests.api.calls import make_token
from tests.builders import make_tenant, make_user


@pytest.fixture
def ada() -> User:
    return make_user("Ada")


@pytest.fixture
def tenant(ada: User) -> Tenant:
    return make_tenant("Aurora", owner=ada)


@pytest.fixture
def token(ada: User, tenant: Tenant) -> str:
    return make_token(ada, tenant)
