"""Commands that join the apps."""

from __future__ import annotations
