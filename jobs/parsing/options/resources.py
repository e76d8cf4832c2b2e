"""The rows of the table that count: nodes, tasks, CPUs, GPUs, memory."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from jobs.parsing.options import readers
from jobs.parsing.options.table import Option

_HINTS = readers.choice(
    {name: name for name in ("compute_bound", "memory_bound", "multithread", "nomultithread")}
)

_GRES_FLAGS = readers.choice({"disable-binding": "disable-binding", "enforce-binding": "enforce-binding"})
RESOURCES: tuple[Option, ...] = (
    Option(
        name="nodes",
        short="N",
        field="nodes",
        also=("max_nodes", "node_sizes"),
        reader=readers.nodes,
        text=_("Number of nodes, or least and most."),
    ),
    Option(name="ntasks", short="n", field="tasks", reader=readers.count(), text=_("Number of tasks.")),
    Option(
        name="ntasks-per-node",
        field="tasks_per_node",
        reader=readers.count(),
        text=_("Tasks on each node."),
    ),
    Option(
        name="tasks-per-node",
        field="tasks_per_node",
        reader=readers.count(),
        text=_("The same as --ntasks-per-node."),
    ),
    Option(
        name="ntasks-per-socket",
        field="tasks_per_socket",
        reader=readers.count(),
        text=_("Tasks on each socket, at most."),
    ),
    Option(
        name="ntasks-per-core",
        field="tasks_per_core",
        reader=readers.count(),
        text=_("Tasks on each core, at most."),
    ),
    Option(
        name="ntasks-per-gpu", field="tasks_per_gpu", reader=readers.count(), text=_("Tasks for each GPU.")
    ),
    Option(
        name="ntasks-per-tres",
        field="tasks_per_gpu",
        reader=readers.count(),
        text=_("The same as --ntasks-per-gpu."),
    ),
    Option(
        name="cpus-per-task",
        short="c",
        field="cpus_per_task",
        reader=readers.count(most=65534),
        text=_("CPUs for each task."),
    ),
    Option(name="cpus-per-gpu", field="cpus_per_gpu", reader=readers.count(), text=_("CPUs for each GPU.")),
    Option(
        name="mincpus",
        field="min_cpus_per_node",
        reader=readers.count(most=65534),
        text=_("CPUs that each node must have, at least."),
    ),
    Option(
        name="sockets-per-node",
        field="sockets_per_node",
        reader=readers.count(most=65534),
        text=_("Sockets that each node must have, at least."),
    ),
    Option(
        name="cores-per-socket",
        field="cores_per_socket",
        reader=readers.count(most=65534),
        text=_("Cores that each socket must have, at least."),
    ),
    Option(
        name="threads-per-core",
        field="threads_per_core",
        reader=readers.count(most=65534),
        text=_("Threads that each core must have, at least."),
    ),
    Option(
        name="extra-node-info",
        short="B",
        field="sockets_per_node",
        also=("cores_per_socket", "threads_per_core"),
        reader=readers.layout,
        text=_("Sockets, cores and threads in one."),
    ),
    Option(
        name="hint",
        field="hint",
        also=("cores_per_socket", "threads_per_core"),
        reader=_HINTS,
        text=_("Read as the numbers of cores and threads that it stands for."),
    ),
    Option(name="gpus", short="G", field="gpus_per_job", reader=readers.gpus, text=_("GPUs in all.")),
    Option(name="gpus-per-node", field="gpus_per_node", reader=readers.gpus, text=_("GPUs of each node.")),
    Option(
        name="gpus-per-socket",
        field="gpus_per_socket",
        reader=readers.gpus,
        text=_("GPUs of each socket."),
    ),
    Option(name="gpus-per-task", field="gpus_per_task", reader=readers.gpus, text=_("GPUs for each task.")),
    Option(
        name="gres", field="gres", reader=readers.gres, text=_("Generic resources of each node, GPUs too.")
    ),
    Option(
        name="gres-flags",
        field="gres_flags",
        reader=_GRES_FLAGS,
        text=_("Whether generic resources are bound to CPUs."),
    ),
    Option(
        name="gpu-bind",
        field="gpu_bind",
        reader=readers.matching(r"[\w:,.*/+-]+", "closest"),
        text=_("How tasks are bound to GPUs."),
    ),
    Option(
        name="gpu-freq",
        field="gpu_freq",
        reader=readers.matching(r"[\w,=:-]+", "medium,memory=high"),
        text=_("Frequency of GPUs and of their memory."),
    ),
    Option(
        name="tres-per-task",
        field="tres_per_task",
        reader=readers.tres,
        since=(23, 11),
        text=_("Resources for each task."),
    ),
    Option(
        name="tres-bind",
        field="tres_bind",
        reader=readers.matching(r"gres/[\w:,.*/+-]+", "gres/gpu:closest"),
        since=(23, 11),
        text=_("How tasks are bound to generic resources."),
    ),
    Option(
        name="mem",
        field="memory_mib",
        reader=readers.mebibytes,
        text=_("Memory of each node; 0 is all of it."),
    ),
    Option(
        name="mem-per-cpu",
        field="memory_per_cpu_mib",
        reader=readers.mebibytes,
        text=_("Memory for each CPU."),
    ),
    Option(
        name="mem-per-gpu",
        field="memory_per_gpu_mib",
        reader=readers.mebibytes,
        text=_("Memory for each GPU."),
    ),
    Option(
        name="mem-update",
        field="memory_update",
        reader=readers.memory_update,
        since=(26, 5),
        text=_("How the memory of a running job is fitted to what it uses."),
    ),
    Option(
        name="tmp",
        field="temporary_disk_mib",
        reader=readers.mebibytes,
        text=_("Temporary disk that each node must have, at least."),
    ),
)
