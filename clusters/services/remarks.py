"""What people should know of a site before they order there."""

from __future__ import annotations

from clusters.models import Site
from clusters.provisioning import stack_drivers
from clusters.reasons import sentence_of
from portal.lib.errors import PermanentError


def of_order(site: Site, stack: str) -> list[str]:
    """Sentences about this stack at this site; none where there is nothing to say."""
    try:
        found = stack_drivers.remarks(site.drivers, site.settings, stack)
    except PermanentError:
        return []  # settings that cannot be read stop the plan, and operators are told there
    return [sentence_of(reason) for reason in found]
