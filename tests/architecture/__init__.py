"""What holds for the code as a whole, read from the code itself."""

from __future__ import annotations
