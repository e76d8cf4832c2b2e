"""What a site says of its Slurm, whichever driver makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

USER_TOP: Final = "slurm_user_top"


def may_top(settings: Mapping[str, Any]) -> bool:
    """Whether members may put a waiting job of theirs before their others."""
    return settings.get(USER_TOP) is True
