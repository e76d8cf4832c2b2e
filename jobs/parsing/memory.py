"""Amounts of memory, to the exact MiB or not at all."""

from __future__ import annotations

import re
from decimal import Decimal

from django.utils.translation import gettext as _

from jobs.parsing.refusal import Refusal

MOST = 1024**3  # MiB; one PiB
_FORM = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)\s*(?:([KMGTP])(?:i?B)?|B)?", re.ASCII | re.IGNORECASE)
_FACTOR = {
    "K": Decimal(1) / 1024,
    "M": Decimal(1),
    "G": Decimal(1024),
    "T": Decimal(1024**2),
    "P": Decimal(1024**3),
}


def parse_memory(text: str) -> int | None:
    """MiB, or None for blank; a plain number is MiB and 0 is all memory of the node. Raises Refusal."""
    word = text.strip()
    if not word:
        return None
    if word.startswith("-"):
        raise Refusal(_("Memory cannot be negative. Write 0 for all memory of the node."))
    match = _FORM.fullmatch(word)
    if match is None or (match[2] is None and word[-1] in "bB"):
        raise Refusal(
            _("This is not an amount of memory. Write MiB (512) or a unit (16G, 1.5T); 0 is all of the node.")
        )
    mebibytes = Decimal(match[1]) * _FACTOR[(match[2] or "M").upper()]
    if mebibytes > MOST:
        raise Refusal(_("At most 1 PiB."))
    if mebibytes != int(mebibytes):
        raise Refusal(
            _("This is %(amount)s MiB. Slurm counts whole MiB: write %(whole)dM.")
            % {"amount": f"{mebibytes.normalize():f}", "whole": int(mebibytes) + 1}
        )
    return int(mebibytes)


def show_memory(mebibytes: int | None) -> str:
    """For people: "all of the node", 16 GiB, 1536 MiB; blank for None."""
    if mebibytes is None:
        return ""
    if mebibytes == 0:
        return _("all of the node")
    for factor, unit in ((1024**2, "TiB"), (1024, "GiB")):
        if mebibytes % factor == 0:
            return f"{mebibytes // factor} {unit}"
    return f"{mebibytes} MiB"
