"""GPUs as people and scripts ask for them."""

from __future__ import annotations

import re
from typing import Literal

from django.utils.translation import gettext as _

from clusters.clients.slurmrest.models import GpuRequest
from jobs.parsing.refusal import Refusal

MOST = 4096
_FORM = re.compile(r"(?:(?P<model>[A-Za-z][A-Za-z0-9_.-]{0,39}):)?(?P<count>\d{1,6})", re.ASCII)


def parse_gpus(text: str, *, per: Literal["node", "job"] = "node") -> GpuRequest | None:
    """2, a100:2 or gpu:a100:2; None for blank and for 0. Raises Refusal."""
    word = text.strip()
    if not word:
        return None
    short = word[4:] if word.lower().startswith("gpu:") else word
    match = _FORM.fullmatch(short)
    if match is None:
        raise Refusal(_("Write a number of GPUs (2), or model and number (a100:2)."))
    count = int(match["count"])
    if count > MOST:
        raise Refusal(_("At most %(most)d GPUs.") % {"most": MOST})
    return GpuRequest(count=count, model=match["model"] or "", per=per) if count else None


def show_gpus(request: GpuRequest | None) -> str:
    """For people: 2 per node, 4 x a100 in all; blank for None."""
    if request is None:
        return ""
    model = f" x {request.model}" if request.model else ""
    each = _("%(gpus)s per node") if request.per == "node" else _("%(gpus)s in all")
    return each % {"gpus": f"{request.count}{model}"}
