"""A job's wishes in the keys of v0.0.37 and v0.0.38: these versions read values as sbatch's options.

Never written here: `argv` and `batch_features`, which kill slurmrestd of Slurm 22.05.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clusters.clients.slurmrest.dialects.submit import shared_keys
from clusters.clients.slurmrest.models import JobSpec, Limit, Unlimited
from portal.lib.types import JSONDict

RENAMED: Final[Mapping[str, str]] = {
    "gpus_per_job": "gpus",
    "gpus_per_node": "gpus_per_node",
    "gpus_per_socket": "gpus_per_socket",
    "gpus_per_task": "gpus_per_task",
    "gres": "gres",
    "gres_flags": "gres_flags",
    "gpu_bind": "gpu_binding",
    "gpu_freq": "gpu_frequency",
    "cpus_per_gpu": "cpus_per_gpu",
    "memory_mib": "memory_per_node",
    "memory_per_cpu_mib": "memory_per_cpu",
    "memory_per_gpu_mib": "memory_per_gpu",
    "warning": "signal",
    "nodelist": "nodelist",
    "exclude": "exclude_nodes",
    "sharing": "exclusive",
    "open_mode": "open_mode",
    "priority": "priority",
}
FLAGS: Final[Mapping[str, str]] = {  # keys whose presence is the wish
    "spread": "spread_job",
    "fewest_nodes": "minimum_nodes",
}


def encode_v38(spec: JobSpec) -> JSONDict:
    """The keys of one job or component."""
    job = shared_keys(spec)
    keys: JSONDict = {key: getattr(spec, name) for name, key in RENAMED.items()}
    keys |= {key: getattr(spec, name) or None for name, key in FLAGS.items()}
    if spec.gpus is not None:
        wanted = ":".join(filter(None, (spec.gpus.model, str(spec.gpus.count))))
        keys |= {"gres": f"gpu:{wanted}"} if spec.gpus.per == "node" else {"gpus": wanted}
    keys["tasks"] = spec.tasks or _tasks(spec)
    keys["time_limit"] = _minutes(spec.time_limit_minutes)
    keys["time_minimum"] = _minutes(spec.time_min_minutes)
    keys["begin_time"] = None if spec.begin is None else f"uts{spec.begin}"
    keys["deadline"] = None if spec.deadline is None else f"uts{spec.deadline}"
    keys["kill_on_invalid_dependency"] = spec.kill_on_invalid_dependency
    keys["wait_all_nodes"] = None if spec.wait_all_nodes is None else int(spec.wait_all_nodes)
    keys["delay_boot"] = None if spec.delay_boot is None else f"0:{spec.delay_boot}"  # minutes:seconds
    keys["no_kill"] = "set" if spec.keep_on_node_failure else None
    keys["mail_type"] = ",".join(spec.mail_types or ()) or None  # none is the default, and no word for it
    keys["profile"] = ",".join(spec.profile) if spec.profile is not None else None
    if spec.requeue is not None:  # `requeue: false` is ignored
        keys["requeue" if spec.requeue else "no_requeue"] = True
    return job | {key: value for key, value in keys.items() if value is not None}


def _tasks(spec: JobSpec) -> int | None:
    """There is no key for the CPUs in all: these versions work them out from the tasks."""
    tasks = (spec.min_cpus or 0) // (spec.cpus_per_task or 1)
    return tasks if tasks > 1 else None


def _minutes(limit: Limit) -> object:
    return "UNLIMITED" if isinstance(limit, Unlimited) else limit
