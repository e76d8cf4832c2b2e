"""The one way in which a parser says no."""

from __future__ import annotations


class Refusal(ValueError):
    """A text that cannot be used. The message is for the person who typed it, beside the field."""
