"""Resources of each task, which newer sbatch gathers in one text from several options."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping

from jobs.parsing.gpus import MODEL, counted

_CPUS = re.compile(r"(?:^|,)cpu[=:](\d+)", re.ASCII)
_GPUS = re.compile(rf"gres[/:]gpu(?::{MODEL})?[=:](\d+)", re.ASCII)
_IN_GRES = re.compile(rf"(?:^|,)gpu(?::{MODEL})?(?:[:=](\d+))?(?=,|$)", re.ASCII)


def work_out_tres(values: MutableMapping[str, object]) -> None:
    """Join --tres-per-task, --cpus-per-task and --gpus-per-task, and bind GPUs to tasks that ask for them."""
    text = str(values.get("tres_per_task") or "")
    # what is joined later stands before the rest
    for one in filter(None, str(values.get("gpus_per_task") or "").split(",")):
        model, _colon, count = counted(one).rpartition(":")
        text = ",".join(filter(None, [f"gres/gpu{':' if model else ''}{model}={count}", text]))
    if found := _CPUS.search(text):
        values["cpus_per_task"] = int(found[1])
    elif isinstance(cpus := values.get("cpus_per_task"), int):
        text = ",".join(filter(None, [f"cpu={cpus}", text]))
    if not text:
        return
    values["tres_per_task"] = text
    gpus = sum(int(count) for count in _GPUS.findall(text))
    is_bound = values.get("gpu_bind") or "gpu" in str(values.get("tres_bind") or "")
    if gpus and not is_bound:
        bound = str(values.get("tres_bind") or "")
        values["tres_bind"] = "+".join(filter(None, [bound, f"gres/gpu:per_task:{gpus}"]))


def tasks_by_gpus(values: Mapping[str, object]) -> int | None:
    """How many tasks follow from the numbers of GPUs; None where they say nothing about it."""
    whole = _sum(values.get("gpus_per_job"))
    each = values.get("tasks_per_gpu")
    if isinstance(each, int):
        nodes = values.get("nodes")
        return max(whole, _of_node(values) * (nodes if isinstance(nodes, int) else 1)) * each or None
    per_task = _of_task(values)
    if whole and per_task and not values.get("tasks"):
        return whole // per_task
    return None


def fits_tasks(values: Mapping[str, object]) -> bool:
    """Whether GPUs in all and GPUs for each task make a whole number of tasks, the one that was asked for."""
    whole, each = _sum(values.get("gpus_per_job")), _of_task(values)
    if not whole or not each:
        return True
    return whole % each == 0 and values.get("tasks") in {None, whole // each}


def nodes_by_gpus(values: Mapping[str, object]) -> int | None:
    """How many nodes follow from GPUs in all and GPUs of each node; None where they say nothing about it."""
    whole, of_node = _sum(values.get("gpus_per_job")), _of_node(values)
    return whole // of_node if whole and of_node and whole % of_node == 0 else None


def _of_task(values: Mapping[str, object]) -> int:
    """By either option; where they are joined, the joined text holds both."""
    joined = sum(int(count) for count in _GPUS.findall(str(values.get("tres_per_task") or "")))
    return joined or _sum(values.get("gpus_per_task"))


def _of_node(values: Mapping[str, object]) -> int:
    gres = str(values.get("gres") or "")
    return _sum(values.get("gpus_per_node")) + sum(int(count or 1) for count in _IN_GRES.findall(gres))


def _sum(text: object) -> int:
    """Of a text such as 2 or a100:2,h100:1."""
    return sum(int(counted(one).rpartition(":")[2]) for one in str(text or "").split(",") if one)
