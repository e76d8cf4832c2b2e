"""The long forms of tests; only `make soak` runs them."""

from __future__ import annotations
