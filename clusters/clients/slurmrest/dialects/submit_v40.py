"""A job's wishes in the keys of v0.0.40 and later: these are the fields of slurmctld's own message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from clusters.clients.slurmrest.dialects.submit import shared_keys
from clusters.clients.slurmrest.models import JobSpec, Limit, Unlimited
from portal.lib.types import JSONDict

RENAMED: Final[Mapping[str, str]] = {
    "min_cpus": "minimum_cpus",
    "min_nodes": "minimum_nodes",
    "tres_per_task": "tres_per_task",
    "tres_bind": "tres_bind",
    "batch_constraint": "batch_features",
    "contiguous": "contiguous",
    "overcommit": "overcommit",
    "reboot": "reboot",
    "delay_boot": "delay_boot",
    "switches_wait": "wait_for_switch",
    "network": "network",
    "container_id": "container_id",
    "container_type": "container_type",
    "extra": "extra",
    "selinux_context": "selinux_context",
    "requeue": "requeue",
}
NUMBERS: Final[Mapping[str, str]] = {  # optional numbers are objects
    "memory_mib": "memory_per_node",
    "memory_per_cpu_mib": "memory_per_cpu",
    "begin": "begin_time",
    "priority": "priority",
    "switches": "required_switches",
    "segment_size": "segment_size",
}
NO_VALUE: Final = 65534  # of a short number
JOB_FLAGS: Final[Mapping[str, str]] = {
    "spread": "SPREAD_JOB",
    "fewest_nodes": "PREFER_MINIMUM_NODE_COUNT",
    "step_manager": "STEPMGR_ENABLED",
    "spread_segments": "SPREAD_SEGMENTS",
    "consolidate_segments": "CONSOLIDATE_SEGMENTS",
    "requeue_expedited": "EXPEDITED_REQUEUE",
}
MAIL: Final[Mapping[str, str]] = {
    "INVALID_DEPEND": "INVALID_DEPENDENCY",
    "TIME_LIMIT": "TIME=100%",
    "TIME_LIMIT_90": "TIME=90%",
    "TIME_LIMIT_80": "TIME=80%",
    "TIME_LIMIT_50": "TIME=50%",
}
_WARNING: Final = re.compile(r"(?P<reserved>R:)?(?P<signal>\w+)@(?P<seconds>\d+)", re.ASCII)


def encode_v40(spec: JobSpec) -> JSONDict:
    """The keys of one job or component."""
    job = shared_keys(spec)
    keys: JSONDict = {key: getattr(spec, name) for name, key in RENAMED.items()}
    keys |= {key: _number(getattr(spec, name)) for name, key in NUMBERS.items()}
    if spec.hold:
        keys["priority"] = None  # both are one field of Slurm's, and sbatch lets the hold win
    keys["time_limit"] = _number(spec.time_limit_minutes)
    keys["time_minimum"] = _number(spec.time_min_minutes)
    keys["tasks"] = spec.tasks_by_gpus or spec.tasks
    keys["deadline"] = spec.deadline
    keys["required_nodes"] = _several(spec.nodelist)
    keys["excluded_nodes"] = _several(spec.exclude)
    keys["shared"] = None if spec.sharing is None else [_sharing(spec.sharing)]
    keys["kill_on_node_fail"] = False if spec.keep_on_node_failure else None
    keys["wait_all_nodes"] = spec.wait_all_nodes
    keys["open_mode"] = None if spec.open_mode is None else [spec.open_mode.upper()]
    keys["mail_type"] = None if spec.mail_types is None else [MAIL.get(one, one) for one in spec.mail_types]
    keys["profile"] = None if spec.profile is None else list(spec.profile)
    keys["oom_kill_step"] = _oom_kill_step(spec)
    keys["flags"] = list(_flags(spec)) or None
    if spec.memory_update is not None:
        keys["memory_update_margin"], keys["memory_update_delay"] = spec.memory_update
    keys |= _tres(spec) | _warning(spec)
    return job | {key: value for key, value in keys.items() if value is not None}


def _oom_kill_step(spec: JobSpec) -> int | None:
    """Without the key slurmrestd says no, whatever the cluster's configuration says."""
    if spec.oom_kill_step is None:
        return None
    return NO_VALUE if spec.oom_kill_step == "configured" else int(spec.oom_kill_step)


def _number(value: Limit) -> JSONDict | None:
    if value is None:
        return None
    if isinstance(value, Unlimited):
        return {"set": False, "infinite": True, "number": 0}
    return {"set": True, "number": value}


def _several(names: str | None) -> list[str] | None:
    """A host list without a split inside brackets."""
    return None if names is None else re.split(r",(?![^\[]*\])", names)


def _sharing(word: str) -> str:
    return "none" if word == "exclusive" else word


def _flags(spec: JobSpec) -> Iterator[str]:
    yield from (flag for name, flag in JOB_FLAGS.items() if getattr(spec, name))
    if spec.kill_on_invalid_dependency is not None:
        yield "KILL_INVALID_DEPENDENCY" if spec.kill_on_invalid_dependency else "NO_KILL_INVALID_DEPENDENCY"
    if spec.gres_flags is not None:
        yield "GRES_BINDING_ENFORCED" if spec.gres_flags == "enforce-binding" else "GRES_BINDING_DISABLED"


def _tres(spec: JobSpec) -> JSONDict:
    """GPUs and other generic resources; what is counted for each GPU is written per TRES."""
    node = [*_gpus(spec.gpus_per_node), *(f"gres/{one}" for one in (spec.gres or "").split(",") if one)]
    job = _gpus(spec.gpus_per_job)
    if spec.gpus is not None:
        wanted = ":".join(filter(None, ("gres/gpu", spec.gpus.model, str(spec.gpus.count))))
        (node if spec.gpus.per == "node" else job).append(wanted)
    task = [spec.tres_per_task] if spec.tres_per_task else _gpus(spec.gpus_per_task)  # it holds them already
    return {
        "tres_per_job": ",".join(job) or None,
        "tres_per_node": ",".join(node) or None,
        "tres_per_socket": ",".join(_gpus(spec.gpus_per_socket)) or None,
        "tres_per_task": ",".join(task) or None,
        "cpus_per_tres": None if spec.cpus_per_gpu is None else f"gres/gpu:{spec.cpus_per_gpu}",
        "memory_per_tres": None if spec.memory_per_gpu_mib is None else f"gres/gpu:{spec.memory_per_gpu_mib}",
        "tres_bind": _bind(spec),
        "tres_freq": None if spec.gpu_freq is None else f"gpu:{spec.gpu_freq}",
    }


def _bind(spec: JobSpec) -> str | None:
    gpus = None if spec.gpu_bind is None else f"gres/gpu:{spec.gpu_bind}"
    return "+".join(filter(None, [gpus, spec.tres_bind])) or None


def _gpus(text: str | None) -> list[str]:
    return [f"gres/gpu:{one}" for one in (text or "").split(",") if one]


def _warning(spec: JobSpec) -> JSONDict:
    """The signal before the end, in parts."""
    match = _WARNING.fullmatch(spec.warning or "")
    if match is None:
        return {}
    flags = ["BATCH_JOB"] if spec.warning_batch else []
    flags += ["RESERVATION_JOB"] if match["reserved"] else []
    parts: JSONDict = {
        "kill_warning_signal": match["signal"],
        "kill_warning_delay": {"set": True, "number": int(match["seconds"])},
    }
    return parts | ({"kill_warning_flags": flags} if flags else {})
