"""The variables that the sbatch client adds to a job's environment; srun in the script reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jobs.parsing.options.export import Export
from jobs.parsing.options.table import Target

_ALIKE = {  # a field: its variable in every release
    "cpus_per_task": "SLURM_CPUS_PER_TASK",
    "tasks": "SLURM_NTASKS",
    "tasks_per_core": "SLURM_NTASKS_PER_CORE",
    "tasks_per_gpu": "SLURM_NTASKS_PER_GPU",
    "tasks_per_node": "SLURM_NTASKS_PER_NODE",
    "tasks_per_socket": "SLURM_NTASKS_PER_SOCKET",
    "threads_per_core": "SLURM_THREADS_PER_CORE",
    "cpus_per_gpu": "SLURM_CPUS_PER_GPU",
    "gpus_per_job": "SLURM_GPUS",
    "gpus_per_node": "SLURM_GPUS_PER_NODE",
    "gpus_per_socket": "SLURM_GPUS_PER_SOCKET",
    "gpu_freq": "SLURM_GPU_FREQ",
    "memory_per_gpu_mib": "SLURM_MEM_PER_GPU",
}
_OLD = {
    "gpu_bind": "SLURM_GPU_BIND",
    "gpus_per_task": "SLURM_GPUS_PER_TASK",
    "accounting_frequency": "SLURM_ACCTG_FREQ",
    "cpu_frequency": "SLURM_CPU_FREQ_REQ",
}
_NEW = {"tres_per_task": "SLURM_TRES_PER_TASK", "tres_bind": "SLURM_TRES_BIND"}
_ONCE = {
    "dependency": "SLURM_JOB_DEPENDENCY",
    "container": "SLURM_CONTAINER",
    "hint": "SLURM_HINT",
}  # not for each component
_LAUNCHERS = {  # an mpirun that starts its processes by srun treats that srun as its own
    "OMPI_MCA_plm_slurm_args": "--external-launcher",
    "PRTE_MCA_plm_slurm_args": "--external-launcher",
    "HYDRA_BOOTSTRAP": "slurm",
    "HYDRA_LAUNCHER_EXTRA_ARGS": "--external-launcher",
    "I_MPI_HYDRA_BOOTSTRAP": "slurm",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "--external-launcher",
}


def exported(base: Mapping[str, str], own: Mapping[str, str], rule: Export | None) -> dict[str, str]:
    """What --export lets through of the environment here, with what was typed into the form."""
    if rule is None or rule.everything:
        kept = dict(base)
    else:
        kept = {name: base[name] for name in rule.keeps if name in base}
    return kept | dict(rule.sets if rule else ()) | dict(own)


def job_variables(
    values: Mapping[str, object], target: Target, *, submit_directory: str, rule: Export | None, login: bool
) -> dict[str, str]:
    """What is said once for a job, also for one of several components."""
    found = {
        "SLURM_SUBMIT_DIR": submit_directory,
        "SLURM_UMASK": "0022",
        "SLURM_PRIO_PROCESS": "0",
        **_texts(values, _ONCE),
    }
    if not target.is_new:
        found["SLURM_JOB_NAME"] = str(values["name"])
        if values.get("open_mode"):
            found["SLURM_OPEN_MODE"] = str(values["open_mode"])[0]
        if isinstance(kinds := values.get("profile"), tuple):
            found["SLURM_PROFILE"] = ",".join(kind.capitalize() for kind in kinds)
    if rule is not None and rule.is_told:
        found["SLURM_EXPORT_ENV"] = rule.text
    if login or (rule is not None and rule.needs_login):
        found["SLURM_GET_USER_ENV"] = "1"
    return found | (_LAUNCHERS if target.release >= (23, 11) else {})


def component_variables(
    values: Mapping[str, object], target: Target, *, component: int | None = None
) -> dict[str, str]:
    """What is said of the layout; of each of several components under names of its own."""
    table = _ALIKE | (_NEW if target.is_new else _OLD)
    found = _texts(values, table)
    if "SLURM_NTASKS" in found:
        found["SLURM_NPROCS"] = found["SLURM_NTASKS"]
    found |= _distribution(str(values.get("distribution") or ""))
    return found if component is None else dict(_of_component(found, component))


def is_of_client(name: str) -> bool:
    """Whether a variable of a job is one that is made here, and not typed by anybody."""
    return name.startswith("SLURM_") or name in _LAUNCHERS


def _of_component(found: Mapping[str, str], component: int) -> Iterator[tuple[str, str]]:
    for name, value in found.items():
        yield f"{name}_PACK_GROUP_{component}", value
        yield f"{name}_HET_GROUP_{component}", value


def _distribution(text: str) -> dict[str, str]:
    kind, _equals, size = text.lower().partition("=")
    if not kind:
        return {}
    return {"SLURM_DISTRIBUTION": kind} | ({"SLURM_DIST_PLANESIZE": size} if size else {})


def _texts(values: Mapping[str, object], table: Mapping[str, str]) -> dict[str, str]:
    return {variable: str(values[name]) for name, variable in table.items() if values.get(name) is not None}
