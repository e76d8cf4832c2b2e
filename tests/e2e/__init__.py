"""Whole processes and a real browser: what a person sees, proved on the parts that `make run` starts."""

from __future__ import annotations
