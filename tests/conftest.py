"""What every test has: a database that may be emptied, the audit trail included, and the same language."""

from __future__ import annotations

import gc
import os

import pytest
from django.conf import settings
from django.db import connection
from django.utils import translation
from pytest_django import DjangoDbBlocker

from tests import groups
from tests.cast import ada, tenant, token  # noqa: F401  # fixtures are found by their names
from tests.contract.slurmrest.fixtures import (  # noqa: F401  # fixtures are found by their names
    slurm_release,
    strict_release,
)
from tests.fixtures import started
from tests.kube.fixtures import kube_server, platform  # noqa: F401  # fixtures are found by their names
from tests.kube.pods import slurm_pods  # noqa: F401  # fixtures are found by their names


def pytest_itemcollected(item: pytest.Item) -> None:
    """After the folders' own conftests, and before xdist reads the groups of what is collected."""
    groups.mark(item)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In the order in which they are handed out; last, so that no other plugin changes it."""
    groups.arrange(items)


def pytest_collection() -> None:
    """All that comes now stays for good, thousands of tests: let no collection of garbage walk through it."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Nor later."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None, pytestconfig: pytest.Config) -> None:
    """Workers of xdist copy one database; alone, one is made at once."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        connection.settings_dict["TEST"]["TEMPLATE"] = pytestconfig.stash[started].template()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Let Django's TRUNCATE between tests pass the guard of the audit trail (see its migration)."""
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_database()")
            name = connection.ops.quote_name(cursor.fetchone()[0])
            cursor.execute(f"ALTER DATABASE {name} SET freehold.flush = 'allowed'")
        connection.close()  # the setting holds for new connections


@pytest.fixture(autouse=True)
def _language() -> None:
    """Django's test client leaves the language of its last request behind; a server's threads do not."""
    translation.activate(settings.LANGUAGE_CODE)
