"""The demo's catalogue."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from clusters import demo
from clusters.models import Flavor, Machine, Offering, Site
from portal.lib.errors import PermanentError

pytestmark = pytest.mark.django_db


def test_it_can_be_loaded_twice() -> None:
    demo.load()
    demo.load()
    assert Site.objects.get().drivers["machines"] == "local"
    assert (Flavor.objects.count(), Offering.objects.count(), Machine.objects.count()) == (3, 3, 30)


def test_it_refuses_in_production(settings: LazySettings) -> None:
    settings.PRODUCTION = True
    with pytest.raises(PermanentError):
        demo.load()
    assert not Site.objects.exists()
