"""Template tags of the jobs pages."""

from __future__ import annotations
