"""Renders slurm.conf and gres.conf of one local cluster from checked values only."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.names import longest_node_name, node_name
from clusters.provisioning.steps import ClusterSpec, FlavorSpec, PoolSpec
from portal.lib.errors import PermanentError

REST, CONTROLLER, DATABASE, FIRST_NODE = 0, 1, 5, 10  # offsets in the cluster's block of ports
DEFAULT_LINE = re.compile(r"^PartitionName=(\S+) .*?\bDefault=YES\b", re.MULTILINE)
NODE_LINE = re.compile(
    r"^NodeName=(?P<name>\S+) .*?\bPort=(?P<port>\d+) CPUs=(?P<cpus>\d+) .*?\bRealMemory=(?P<memory>\d+)"
    r"(?: Gres=gpu:(?:(?P<gpu>[^:\s]+):)?(?P<gpus>\d+))? ",
    re.MULTILINE,
)

COMMON = """\
# Written by Freehold; changes are overwritten.
ClusterName={name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={slurm_user}
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/run/munge.socket
CredType=cred/munge
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={root}/keys/jwt.key
DisableRootJobs=YES
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/sp/%n
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/slurmd-%n.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/slurmd-%n.log
SlurmctldDebug=info
SlurmdDebug=info
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=5
JobAcctGatherParams=OverMemoryKill
MpiDefault=none
PropagateResourceLimits=NONE
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=5,batch_sched_delay=0,sched_min_interval=200000{top}
PriorityType=priority/multifactor
MaxJobCount=100000
MinJobAge=300
KillWait=5
SlurmctldTimeout=5
SlurmdTimeout=60
MessageTimeout=10
ReturnToService=2
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
DebugFlags=NO_CONF_HASH
"""
NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"
ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={root}/run/munge.socket
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
"""
ENFORCING = "AccountingStorageEnforce=limits\n"  # and with that, only known users submit


@dataclass(frozen=True, slots=True)
class Node:
    """One slurmd to be run."""

    name: str
    port: int
    flavor: FlavorSpec


@dataclass(frozen=True, slots=True)
class Rendered:
    """The two files, and the nodes they describe."""

    slurm: str
    gres: str
    nodes: tuple[Node, ...]
    leaving: frozenset[str]  # nodes that stand in no partition any more: what runs there may end


def render(
    spec: ClusterSpec,
    folder: ClusterFolder,
    ports: range,
    *,
    slurm_user: str,
    old: str,
    gone: Collection[str] = (),
    accounting: bool = False,
    user_top: bool = False,
) -> Rendered:
    """Render a checked spec. `old` is the present slurm.conf: nodes in it keep their ports.

    Of those that the spec no longer has or is about to give up, each stays without a partition until it
    stands in `gone`. The default partition stays the default. `user_top`: members may put their own
    waiting jobs in another order.
    """
    longest = longest_node_name(folder.root.parent)
    names = {m: node_name(m, longest) for pool in spec.pools for m in pool.machines}
    known = {node.name: node for node in _nodes_in(old)}
    leaving = [node for name, node in known.items() if name not in {*names.values(), *gone}]
    assigned = _assign_ports(
        [*(node.name for node in leaving), *names.values()],
        ports,
        {node.name: node.port for node in known.values()},
    )
    nodes = [Node(node.name, assigned[node.name], node.flavor) for node in leaving]
    partitions = []
    default = _default(spec, old)
    for pool in spec.pools:
        mine = [Node(names[machine], assigned[names[machine]], pool.flavor) for machine in pool.machines]
        nodes += mine
        partitions.append(_partition_line(pool, mine, is_default=pool.name == default))
    head = COMMON.format(
        name=spec.name,
        controller=ports[CONTROLLER],
        slurm_user=slurm_user,
        root=folder.root,
        top=",enable_user_top" if user_top else "",
    )
    # slurmctld does not look at AuthInfo when it speaks to slurmdbd, but at AccountingStoragePass
    head += ACCOUNTING.format(port=ports[DATABASE], root=folder.root) if accounting else NO_ACCOUNTING
    if accounting and spec.enforces_limits:
        head += ENFORCING
    nodes.sort(key=lambda node: node.name)
    lines = [*(_node_line(node) for node in nodes), *partitions]
    gres = [_gres_line(node, folder) for node in nodes if node.flavor.gpu_count]
    return Rendered(
        head + "\n".join(lines) + "\n",
        "\n".join(gres) + "\n",
        tuple(nodes),
        frozenset(node.name for node in leaving),
    )


def tells_accounting(text: str) -> bool:
    """Whether a slurm.conf names a slurmdbd."""
    return "accounting_storage/slurmdbd" in text


def _default(spec: ClusterSpec, old: str) -> str:
    """The partition for jobs that name none: the one that is it already, as long as it has machines."""
    stay = [pool.name for pool in spec.pools if pool.machines]
    return next((name for name in (*DEFAULT_LINE.findall(old), *stay) if name in stay), "")


def _nodes_in(old: str) -> list[Node]:
    return [
        Node(
            found["name"],
            int(found["port"]),
            FlavorSpec(
                "", found["gpu"] or "", int(found["gpus"] or 0), int(found["cpus"]), int(found["memory"])
            ),
        )
        for found in NODE_LINE.finditer(old)
    ]


def _assign_ports(names: list[str], ports: range, known: Mapping[str, int]) -> dict[str, int]:
    allowed = ports[FIRST_NODE:]
    if len(names) > len(allowed):
        raise PermanentError(
            "NotEnoughPorts",
            f"The cluster has {max(len(allowed), 0)} ports for nodes and needs {len(names)}.",
            hint="Give the local site larger blocks of ports.",
        )
    # of two old nodes on one port none is believed
    values = list(known.values())
    assigned = {
        name: known[name] for name in names if known.get(name) in allowed and values.count(known[name]) == 1
    }
    free = (port for port in allowed if port not in assigned.values())
    for name in names:
        if name not in assigned:
            assigned[name] = next(free)
    return assigned


def _gpus(flavor: FlavorSpec) -> str:
    return f"gpu:{flavor.gpu_type}:{flavor.gpu_count}" if flavor.gpu_type else f"gpu:{flavor.gpu_count}"


def _node_line(node: Node) -> str:
    flavor = node.flavor
    gres = f" Gres={_gpus(flavor)}" if flavor.gpu_count else ""
    return (
        f"NodeName={node.name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={node.port} CPUs={flavor.cpus}"
        f" Boards=1 SocketsPerBoard=1 CoresPerSocket={flavor.cpus} ThreadsPerCore=1"
        f" RealMemory={flavor.memory_mib}{gres} State=UNKNOWN"
    )


def _partition_line(pool: PoolSpec, nodes: list[Node], *, is_default: bool) -> str:
    memory = max(pool.flavor.memory_mib // pool.flavor.cpus, 1)
    names = ",".join(node.name for node in nodes)
    default = "YES" if is_default else "NO"
    members = f" Nodes={names}" if names else ""
    limits = f"DefaultTime=60 MaxTime=7-0 DefMemPerCPU={memory}"
    # of a pool that goes altogether the jobs may end; new ones are refused
    state = "UP" if nodes else "DRAIN"
    return f"PartitionName={pool.name}{members} Default={default} {limits} State={state}"


def _gres_line(node: Node, folder: ClusterFolder) -> str:
    kind = f" Type={node.flavor.gpu_type}" if node.flavor.gpu_type else ""
    last = node.flavor.gpu_count - 1
    which = f"[0-{last}]" if last else "0"
    return f"NodeName={node.name} Name=gpu{kind} File={folder.root}/dev/nvidia{which}"
