"""portal.settings as a test run sees them, for tools that only look (mypy, makemigrations --check)."""

from __future__ import annotations

import os

from tests.fixtures.environment import ENVIRONMENT

for _name, _value in ENVIRONMENT.items():
    os.environ.setdefault(_name, _value)

from portal.settings import *  # noqa: E402, F403
