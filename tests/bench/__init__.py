"""Figures of what people wait for; `python -m tests.bench` prints them."""

from __future__ import annotations
