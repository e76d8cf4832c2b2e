"""Reads the texts in which Slurm counts GPUs: gres, gres_used, gres_detail and TRES."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import msgspec

_FACTOR = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_COUNT = re.compile(r"(\d+)([KMGT]?)", re.IGNORECASE)
_BRACKETS = re.compile(r"\([^()]*\)")


class Gpus(msgspec.Struct, frozen=True):
    """A number of GPUs, and how many of them are of a named model."""

    total: int = 0
    by_model: tuple[tuple[str, int], ...] = ()  # sorted by model


NO_GPUS = Gpus()


@lru_cache(maxsize=4096)  # the jobs of one queue ask in few ways
def parse_gpus(text: str) -> Gpus:
    """The GPUs in any of Slurm's texts; other resources and what cannot be read count as nothing.

    Forms: `gpu:8`, `gpu:h100:8(S:0-1)`, `gpu:h100:4(IDX:0-2,5),mps:100`, `gpu:(null)`, `gres/gpu=8`,
    `gres:gpu:2`, `cpu=8,gres/gpu=4,gres/gpu:a100=4` (the model's count is part of the total).
    """
    untyped = 0
    models: Counter[str] = Counter()
    has_total = False  # a TRES list gives the total beside the models
    for item in _BRACKETS.sub("", text).split(","):
        name, is_tres, count = _read_item(item.strip())
        if name is None or not count:
            continue
        if name:
            models[name] += count
        else:
            untyped += count
            has_total = has_total or is_tres
    named = sum(models.values())
    total = max(untyped, named) if has_total else untyped + named
    return Gpus(total, tuple(sorted(models.items())))


def add_gpus(parts: Iterable[Gpus]) -> Gpus:
    """The sum, for example over the nodes of a job."""
    total = 0
    models: Counter[str] = Counter()
    for part in parts:
        total += part.total
        models.update(dict(part.by_model))
    return Gpus(total, tuple(sorted(models.items())))


def _read_item(item: str) -> tuple[str | None, bool, int]:
    """(model, is it TRES, count); the model is "" where none is named and None for what is no GPU."""
    is_tres = "=" in item
    words = item.replace("=", ":").replace("gres/", "", 1).removeprefix("gres:").split(":")
    if words[0] != "gpu":
        return None, is_tres, 0
    match = _COUNT.fullmatch(words[-1])
    if match is None:
        # "gpu" or "gpu:a100" alone asks for one; "gpu:" is what is left of "gpu:(null)"
        return ("", is_tres, 0) if words[-1] == "" else (":".join(words[1:]), is_tres, 1)
    return ":".join(words[1:-1]), is_tres, int(match[1]) * _FACTOR[match[2].upper()]
