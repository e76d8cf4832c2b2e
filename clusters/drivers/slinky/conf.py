"""What we add to Slurm's configuration; the operator writes the rest of slurm.conf itself.

Of slurm-operator 1.2.1: ClusterName, hosts, ports, authentication, accounting, NodeSets and partitions. Not
GresTypes, and no Constrain line in cgroup.conf, without which jobs of one node share its GPUs and memory.
"""

from __future__ import annotations

from clusters.drivers.slinky.settings import SlinkySettings
from clusters.provisioning.steps import ClusterSpec, PoolSpec

CGROUP = """\
CgroupPlugin=cgroup/v2
IgnoreSystemd=yes
ConstrainCores=yes
ConstrainRAMSpace=yes
ConstrainDevices=yes
"""
# a first job makes its user's home; runs as root on the worker, and with PrologFlags=Alloc before the job
HOME_SCRIPT = """\
#!/bin/sh
set -eu
case "${SLURM_JOB_UID:-0}" in
  0) exit 0 ;;
esac
case "${SLURM_JOB_USER:-}" in
  fh*[!a-z0-9]* | "") exit 0 ;;
  fh*) ;;
  *) exit 0 ;;
esac
home="/home/$SLURM_JOB_USER"
[ -d "$home" ] || install -d -m 0700 -o "$SLURM_JOB_UID" -g "${SLURM_JOB_GID:-$SLURM_JOB_UID}" "$home"
"""
SCRIPTS = {"50-home.sh": HOME_SCRIPT}
# a command and no AuthorizedKeysFile: files of a ConfigMap stand in a folder that sshd's StrictModes refuses
SSHD = """\
AuthorizedKeysCommand /usr/bin/cat /var/lib/extrausers/%u.keys
AuthorizedKeysCommandUser nobody
"""
KEYS = ".keys"
SWITCH = """\
passwd: slurm files extrausers sss
group: slurm files extrausers sss
shadow: files sss
hosts: files dns
"""
# logins of accounts that the files name: SSSD answers for them from the same files
SSSD = """\
[sssd]
services = nss,pam
domains = DEFAULT

[nss]
filter_groups = root,slurm
filter_users = root,slurm

[pam]

[domain/DEFAULT]
id_provider = proxy
proxy_lib_name = extrausers
auth_provider = proxy
proxy_pam_target = sssd-shadowutils
"""


def extra_conf(spec: ClusterSpec, *, accounting: bool, user_top: bool = False) -> str:
    """Lines for the end of slurm.conf."""
    has_gpus = any(pool.flavor.gpu_count for pool in spec.pools)
    lines = [
        *(["GresTypes=gpu"] if has_gpus else []),
        *(["AccountingStorageTRES=gres/gpu"] if has_gpus and accounting else []),
        # with it, only known users submit: the accounts step makes them
        *(["AccountingStorageEnforce=limits"] if accounting and spec.enforces_limits else []),
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "ProctrackType=proctrack/cgroup",
        "TaskPlugin=task/cgroup,task/affinity",
        "JobAcctGatherType=jobacct_gather/cgroup",
        "PrologFlags=Alloc,Contain",
        "MpiDefault=none",
        "MaxArraySize=1001",
        *(["SchedulerParameters=enable_user_top"] if user_top else []),
    ]
    return "\n".join(lines)


def gres_conf(settings: SlinkySettings) -> str:
    """How slurmd finds GPUs; "nvidia" sees neither MIG slices nor NVLink."""
    return f"AutoDetect={settings.detect}\n"


def node_conf(pool: PoolSpec) -> str:
    """A worker's own parameters, each key=value: the operator panics at anything else."""
    flavor = pool.flavor
    if not flavor.gpu_count:
        return ""
    kind = f":{flavor.gpu_type}" if flavor.gpu_type else ""
    return f"Gres=gpu{kind}:{flavor.gpu_count}"


def partition(pool: PoolSpec, spec: ClusterSpec) -> str:
    """A partition's parameters; the first one is the default."""
    first = spec.pools[0].name == pool.name
    per_cpu = max(pool.flavor.memory_mib * 9 // 10 // max(pool.flavor.cpus, 1), 1)
    parts = ["Default=YES"] if first else []
    return " ".join([*parts, "State=UP", "DefaultTime=60", "MaxTime=7-00:00:00", f"DefMemPerCPU={per_cpu}"])


def passwd(spec: ClusterSpec) -> str:
    """The accounts; one that ended has a shell that lets nobody in."""
    return "".join(
        f"{one.name}:x:{one.uid}:{one.gid}:Freehold {one.kind}:{home_of(one.name)}:"
        f"{'/bin/bash' if one.active else '/usr/sbin/nologin'}\n"
        for one in spec.accounts
    )


def group(spec: ClusterSpec) -> str:
    """The one group of the cluster."""
    members = ",".join(one.name for one in spec.accounts if one.active)
    return f"{group_name(spec)}:x:{spec.gid}:{members}\n" if spec.gid else ""


def keys(spec: ClusterSpec) -> dict[str, str]:
    """A file for each account that may open a shell: its public keys, as sshd reads them."""
    return {
        f"{one.name}{KEYS}": "".join(f"{key}\n" for key in one.keys)
        for one in spec.accounts
        if one.active and one.keys
    }


def group_name(spec: ClusterSpec) -> str:
    """As the local driver names it: fh and the twelve letters of the cluster's name."""
    return f"fh{spec.name.removeprefix('c-')}"


def home_of(account: str) -> str:
    """An account's home, on every node."""
    return f"/home/{account}"
