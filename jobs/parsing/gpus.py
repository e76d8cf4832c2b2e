"""GPUs as people and scripts ask for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from django.utils.translation import gettext as _

from clusters.clients.slurmrest.models import GpuRequest
from jobs.parsing.refusal import Refusal

MOST = 4096
MODEL = r"(?=[\w.-]*[A-Za-z])\w[\w.-]{0,39}"  # a100, 2080ti, 1g.10gb
_FORM = re.compile(rf"(?:(?P<model>{MODEL}):)?(?P<count>\d{{1,6}})", re.ASCII)


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


def counted(text: str) -> str:
    """One of sbatch's texts with its number: a100:1 for a100, a100:2 for a100=2; blank stays blank."""
    word = text.replace("=", ":")
    return f"{word}:1" if word and not word.rpartition(":")[2].isdigit() else word


def show_gpus(request: GpuRequest | None) -> str:
    """For people: 2 per node, 4 x a100 in all; blank for None."""
    if request is None:
        return ""
    model = f" x {request.model}" if request.model else ""
    each = _("%(gpus)s per node") if request.per == "node" else _("%(gpus)s in all")
    return each % {"gpus": f"{request.count}{model}"}


def without_gpus(gres: str) -> str:
    """A list of generic resources without its GPUs."""
    return ",".join(one for one in gres.split(",") if one.partition(":")[0].partition("=")[0] != "gpu")


def wanted_gpus(values: Mapping[str, object]) -> list[tuple[str, GpuRequest]]:
    """(field, request per node or per job) of the form's field and of sbatch's options.

    What counts by socket or task is left out: how many that is depends on the nodes.
    """
    told = values.get("gpus")
    found = [("gpus", told)] if isinstance(told, GpuRequest) else []
    found += [("gpus_per_node", one) for one in _several(str(values.get("gpus_per_node") or ""), "node")]
    found += [("gpus_per_job", one) for one in _several(str(values.get("gpus_per_job") or ""), "job")]
    for text in str(values.get("gres") or "").split(","):
        kind, _colon, rest = text.replace("=", ":").partition(":")
        if kind == "gpu":
            found += [("gres", one) for one in _several(rest or "1", "node")]
    return found


def _several(text: str, per: Literal["node", "job"]) -> list[GpuRequest]:
    try:
        texts = [counted(one) for one in text.split(",")]
        return [request for one in texts if (request := parse_gpus(one, per=per))]
    except Refusal:  # with a unit, or more than there can be: Slurm says so
        return []
