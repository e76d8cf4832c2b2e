"""What the tests of the jobs API share."""

from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.builders import make_tenant


@pytest.fixture
def tenant() -> Tenant:
    """Has a short address."""
    return make_tenant("Aurora")
