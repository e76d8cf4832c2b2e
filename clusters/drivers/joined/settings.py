"""What a site says about how its machines join: the section "joined", which may be absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from clusters.kube.site_settings import Section

SECTION: Final = "joined"


@dataclass(frozen=True, slots=True)
class JoinedSettings:
    """Validated. By hand: an operator runs the join command on each machine, and no time runs out."""

    by_hand: bool = False

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> JoinedSettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = Section({SECTION: {}, **settings}, SECTION, ("by_hand",))
        return cls(by_hand=section.flag("by_hand", default=False))
