"""What the sbatch client works out before it sends, so that the same lines make the same job here."""

from __future__ import annotations

from collections.abc import Container, Iterator, MutableMapping

from django.utils.translation import gettext as _

from jobs.parsing.gpus import without_gpus
from jobs.parsing.options.readers import node_names
from jobs.parsing.options.table import Target
from jobs.parsing.tres import fits_tasks, nodes_by_gpus, tasks_by_gpus, work_out_tres

Values = MutableMapping[str, object]
# told by a form field: what the script says of the same thing no longer counts
TAKES_THE_PLACE_OF: dict[str, tuple[str, ...]] = {
    "nodes": ("max_nodes", "node_sizes"),
    "gpus": ("gpus_per_job", "gpus_per_node", "gpus_per_socket", "gpus_per_task"),
}
NO_LIMIT = 65535  # how a short number says so
HINT_YIELDS = (25, 11)  # to numbers of sockets and cores, too
_HINTS: dict[str, dict[str, int]] = {
    "compute_bound": {"threads_per_core": 1},
    "memory_bound": {"cores_per_socket": 1, "threads_per_core": 1},
    "nomultithread": {"threads_per_core": 1},
    "multithread": {"tasks_per_core": NO_LIMIT},
}


def number(values: Values, name: str) -> int | None:
    """A whole number among the values."""
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def problems_of(values: Values, target: Target) -> Iterator[tuple[str, str]]:
    """(field, message) for each pair of options that sbatch itself refuses together."""
    per_gpu = [name for name in ("gpus_per_task", "gpus_per_socket", "tasks_per_node") if values.get(name)]
    if values.get("tasks_per_gpu") and per_gpu:
        told = _("Tasks for each GPU cannot be set together with GPUs per task or socket, or tasks per node.")
        yield "tasks_per_gpu", told
    if values.get("core_spec") and values.get("thread_spec"):
        yield "core_spec", _("Cores and threads for the system cannot both be set. Keep one of them.")
    begin, deadline = number(values, "begin"), number(values, "deadline")
    if begin and deadline and deadline < begin:
        yield "deadline", _("The deadline is before the begin.")
    yield from _gpu_problems(values, target)
    if target.is_new:
        if values.get("tasks_per_gpu") and values.get("tres_per_task"):
            yield "tasks_per_gpu", _("Tasks for each GPU and resources for each task cannot both be set.")
        yield from _newer_problems(values, target)


def _newer_problems(values: Values, target: Target) -> Iterator[tuple[str, str]]:
    if values.get("cpus_per_gpu") and values.get("cpus_per_task"):
        yield "cpus_per_gpu", _("CPUs for each GPU and for each task cannot both be set. Keep one of them.")
    yield from _task_problems(values)
    core, thread = number(values, "tasks_per_core"), number(values, "threads_per_core")
    if core and thread and thread < core:
        yield "tasks_per_core", _("More tasks per core than threads per core.")
    if (
        target.release >= (25, 11)
        and values.get("gpus_per_node")
        and without_gpus(str(values.get("gres") or "")) != (values.get("gres") or "")
    ):
        yield "gpus_per_node", _("GPUs per node and GPUs among --gres cannot both be set. Keep one of them.")
    if str(values.get("distribution") or "").lower().startswith("arbitrary") and values.get("nodes"):
        yield "distribution", _("A number of nodes and the distribution arbitrary cannot both be set.")


def _task_problems(values: Values) -> Iterator[tuple[str, str]]:
    """Two options that say the same of a task, or numbers that do not fit each other."""
    text = str(values.get("tres_per_task") or "")
    for name, word in (("cpus_per_task", "cpu"), ("gpus_per_task", "gres/gpu")):
        if values.get(name) and word in text:
            yield name, _("This is said twice, here and by --tres-per-task. Keep one of them.")
    if values.get("cpus_per_gpu") and "cpu" in text:
        yield "cpus_per_gpu", _("CPUs for each GPU and for each task cannot both be set. Keep one of them.")
    if not fits_tasks(values):
        yield (
            "gpus_per_task",
            _("The number of GPUs is not the number of tasks times the GPUs for each task."),
        )


def _gpu_problems(values: Values, target: Target) -> Iterator[tuple[str, str]]:
    """Numbers per task or per GPU from which no whole number follows."""
    fixed = number(values, "nodes") and number(values, "max_nodes") is None
    found = dict(values)
    work_out(found, target)
    if number(found, "tasks") or fixed:
        return
    told = _("Say how many tasks or nodes there are, too.")
    kinds = ("gpus_per_job", "gpus_per_node", "gpus_per_socket", "gpus_per_task")
    others = f"{values.get('gres')}{values.get('tres_per_task')}"
    has_gpus = any(values.get(name) for name in kinds) or "gpu" in others
    if values.get("tasks_per_gpu") and not has_gpus and not values.get("gpus"):
        yield "tasks_per_gpu", told
    per_task = values.get("gpus_per_task") or "gpu" in str(values.get("tres_per_task"))
    if per_task and not values.get("gpus_per_job"):
        yield "gpus_per_task" if values.get("gpus_per_task") else "tres_per_task", told


def work_out(values: Values, target: Target) -> set[str]:
    """Set what follows from the other values, as the client of that release does; which fields that were."""
    before = dict(values)
    _hint(values, target)
    if isinstance(more := values.pop("resources", None), str):
        values["licenses"] = ",".join(filter(None, [str(values.get("licenses") or ""), more]))
    if target.is_new:
        work_out_tres(values)
        values["tasks_by_gpus"] = tasks_by_gpus(values)
    each = number(values, "cpus_per_task")
    if each and (number(values, "min_cpus_per_node") or 0) < each:
        values["min_cpus_per_node"] = each
    tasks = _tasks(values, target)
    _fit_nodes(values, target)
    values["min_cpus"] = _cpus(values, tasks, target)
    if target.is_new and values.get("nodes") is None and (nodes := nodes_by_gpus(values)):
        values["nodes"] = nodes
    if target.api and target.carries("oom_kill_step"):
        values.setdefault("oom_kill_step", "configured")
    return {name for name, value in values.items() if value is not None and before.get(name) != value}


def is_hint_void(names: Container[str], target: Target) -> bool:
    """sbatch ignores --hint beside options that say the same thing in numbers."""
    numbers = ["tasks_per_core", "threads_per_core", "in_one"]
    if target.release >= HINT_YIELDS:
        numbers += ["sockets_per_node", "cores_per_socket"]
    return any(name in names for name in numbers)


def _hint(values: Values, target: Target) -> None:
    """What a hint stands for; it stays among the values, since srun is told of it by a variable."""
    hint = str(values.get("hint") or "")
    if hint and is_hint_void(values, target):
        del values["hint"]
    elif hint:
        for name in ("sockets_per_node", "cores_per_socket"):
            values.pop(name, None)
        values.update(_HINTS[hint])


def _tasks(values: Values, target: Target) -> int:
    """How many tasks the client counts with; it tells slurmctld only where `tasks` is set."""
    in_one = values.pop("in_one", None)
    if tasks := number(values, "tasks"):
        return tasks
    if str(values.get("distribution") or "").lower().startswith("arbitrary") and (named := _named(values)):
        values["tasks"] = len(named)
        return len(named)
    least, most = _least(values, target), number(values, "max_nodes")
    is_fixed = most is None or most == least
    each = number(values, "tasks_per_node")
    if each and is_fixed:
        tasks = (least or 1) * each
        if not target.is_new:
            values["tasks"] = tasks
        return tasks
    layout = [number(values, name) for name in ("sockets_per_node", "cores_per_socket", "threads_per_core")]
    return _laid_out(values, least or 1, layout) if is_fixed and (least or in_one) else 1


def _laid_out(values: Values, least: int, layout: list[int | None]) -> int:
    """One task for each node, or for each of the sockets, cores and threads that were asked for."""
    tasks = least
    for part in filter(None, layout):
        tasks *= part
        values["tasks"] = tasks
    return tasks


def _named(values: Values) -> list[str]:
    """The nodes of --nodelist, as often as each is named."""
    return listed_hosts(str(values.get("nodelist") or ""))


def _least(values: Values, target: Target) -> int | None:
    """The least number of nodes: as told, else as many as are named; for older clients the larger one."""
    told, named = number(values, "nodes"), len(set(_named(values)))
    return (told or named or None) if target.is_new else max(told or 0, named) or None


def _fit_nodes(values: Values, target: Target) -> None:
    """Never more nodes than tasks; and as many as the tasks of each node need."""
    tasks, least, most = (number(values, name) for name in ("tasks", "nodes", "max_nodes"))
    named = list(dict.fromkeys(_named(values)))
    if least is None and named and target.is_new:
        values["min_nodes"] = min(len(named), tasks or len(named))
    if tasks is None:
        return
    if tasks < len(named) and not target.is_new:  # the list is cut, too
        first = sorted(named, key=lambda name: (len(name), name))[:tasks]
        values["nodelist"], values["nodes"], values["max_nodes"] = ",".join(first), tasks, None
        return
    each = number(values, "tasks_per_node")
    if least is None and each and target.is_new and not values.get("nodelist"):
        values["min_nodes"] = -(-tasks // each)
    elif least is not None and tasks < least:
        values["nodes"], values["max_nodes"] = tasks, None
    elif least is not None and most is not None and tasks < most:
        values["max_nodes"] = None if tasks == least else tasks


def _cpus(values: Values, tasks: int, target: Target) -> int:
    if values.get("overcommit"):
        return max(_least(values, target) or 0, 1)
    return tasks * (number(values, "cpus_per_task") or 1)


def hosts_of(text: str) -> set[str]:
    """The nodes that a host list names: n1, n3 and n4 for n1,n[3-4]; none for a text that cannot be read."""
    return set(listed_hosts(text))


def listed_hosts(text: str) -> list[str]:
    """As hosts_of, in the order of the list."""
    try:
        return [host for part in _outside_brackets(node_names(text) or "") for host in _expand(part)]
    except ValueError:
        return []


def _outside_brackets(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part]


def _expand(part: str) -> Iterator[str]:
    head, bracket, rest = part.partition("[")
    if not bracket:
        yield head
        return
    inside, _bracket, tail = rest.partition("]")
    for span in inside.split(","):
        first, _dash, last = span.partition("-")
        for index in range(int(first), min(int(last or first), int(first) + 100_000) + 1):
            yield from (f"{head}{index:0{len(first)}}{end}" for end in _expand(tail))
