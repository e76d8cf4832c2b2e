"""Checks every name once more before it reaches a file of Slurm, a path or a unix account."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from clusters.provisioning.steps import AccountSpec, ClusterSpec, PoolSpec
from portal.lib.errors import PermanentError

CLUSTER = re.compile(r"c-[a-z0-9]{12}")
POOL = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
RESERVED_POOLS = frozenset({"default", "all", "none"})
GPU_TYPE = re.compile(r"[a-z0-9][a-z0-9_.-]{0,31}")
ACCOUNT = re.compile(r"fh[a-z0-9]{4,28}")
INSTALLATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PLAIN_MACHINE = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
FREE_IDS = range(1000, 2**31 - 1)
NOBODY = 65534
RESERVED_NODES = frozenset({"default", "localhost", "all"})
LONGEST_SOCKET = 107  # characters; unix(7)
SHORTEST_NODE = 6


def group_name(cluster: str) -> str:
    """The unix group of a cluster: fh and the 12 characters of its external name."""
    return f"fh{cluster.removeprefix('c-')}"


def label(machine: str) -> str:
    """A host name part for a machine; one that had to be changed gets a hash, so no two ever meet."""
    if PLAIN_MACHINE.fullmatch(machine):
        return machine
    plain = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")[:30].strip("-")
    return f"{plain or 'machine'}-{hashlib.sha256(machine.encode()).hexdigest()[:8]}"


def node_name(machine: str, longest: int) -> str:
    """The Slurm node on a machine: its label, or a shorter name as unique. Stable when a pool changes."""
    plain = label(machine)
    if len(plain) <= longest and plain[0].isalpha() and plain not in RESERVED_NODES:
        return plain
    digest = hashlib.sha256(machine.encode()).hexdigest()[: min(8, longest - 1)]
    kept = plain[: max(0, longest - len(digest) - 2)].strip("-")
    return f"n{kept}-{digest}" if kept else f"n{digest}"


def longest_node_name(clusters: Path) -> int:
    """How long node names may be in this folder: a slurmd's socket path holds the name twice.

    <clusters>/<14 characters>/sp/<node>/<node>_<8 digits>.<10 digits>. Raises PermanentError.
    """
    longest = (LONGEST_SOCKET - len(f"{clusters}/c-123456789012/sp///_12345678.1234567890") + 1) // 2
    if longest < SHORTEST_NODE:
        raise PermanentError(
            "BadDataFolder",
            "The path of the data folder is too long for Slurm's sockets.",
            hint="Choose a shorter path for the data folder.",
        )
    return min(longest, 40)


def check_cluster(spec: ClusterSpec) -> None:
    """Refuse names that cannot be those of a cluster; enough for looking and removing."""
    _require(CLUSTER.fullmatch(spec.name), "the cluster's name")
    _require(INSTALLATION.fullmatch(spec.installation), "the installation's name")
    _require(re.fullmatch(r"[0-9a-f-]{36}", spec.id), "the cluster's id")


def check(spec: ClusterSpec, *, system_user: str) -> None:
    """Refuse a spec that holds anything but what our own rules make. Raises PermanentError BadName."""
    check_cluster(spec)
    _require(is_free_id(spec.gid), "the cluster's group id")
    _require(len({pool.name for pool in spec.pools}) == len(spec.pools), "two pools' name")
    machines = [machine for pool in spec.pools for machine in (*pool.machines, *pool.leaving)]
    _require(len(set(machines)) == len(machines), "a machine that stands in two pools")
    for pool in spec.pools:
        _check_pool(pool)
    for account in spec.accounts:
        _check_account(account, spec.gid, system_user)
    uids = {account.uid for account in spec.accounts}
    names = {account.name for account in spec.accounts}
    _require(len(uids) == len(names) == len(spec.accounts), "two accounts' name or uid")


def _check_pool(pool: PoolSpec) -> None:
    _require(POOL.fullmatch(pool.name) and pool.name not in RESERVED_POOLS, "a pool's name")
    flavor = pool.flavor
    _require(flavor.gpu_type == "" or GPU_TYPE.fullmatch(flavor.gpu_type), "a flavor's GPU type")
    numbers = 0 <= flavor.gpu_count <= 64 and 1 <= flavor.cpus <= 1024 and 1 <= flavor.memory_mib <= 2**26
    _require(numbers, "a flavor's number of GPUs, CPUs or MiB")
    _require(all(0 < len(machine) <= 253 for machine in (*pool.machines, *pool.leaving)), "a machine's name")


def _check_account(account: AccountSpec, gid: int, system_user: str) -> None:
    _require(ACCOUNT.fullmatch(account.name) and account.name != system_user, "an account's name")
    _require(is_free_id(account.uid) and account.gid == gid, "an account's uid or gid")


def is_free_id(number: int) -> bool:
    """Whether a uid or gid may be one of ours: not the system's, not nobody's."""
    return number in FREE_IDS and number != NOBODY


def _require(fine: object, what: str) -> None:
    # what was refused is not repeated: it may hold anything
    if not fine:
        raise PermanentError(
            "BadName",
            f"The local driver cannot use {what}. Nothing was written.",
            hint="Correct the order or the site's inventory.",
        )
