"""Tests of the parsers."""

from __future__ import annotations
