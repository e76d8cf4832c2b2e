"""What a slurmd and its jobs see and may use of this machine: folders of their own, limits, a low priority.

A slurmd stands for a machine. So it has a /tmp, /var/tmp and /dev/shm of its own in the cluster's folder,
a /proc that shows users only their own processes, and System V memory of its own. Namespaces do this: jobs
inherit them, the last process takes them along however it ends, and nothing is mounted where others see it.

Processes of one tenant on one machine share its /tmp, as on a real machine. Kernel, network and clock are
shared by all: that is why the local drivers are for demos and tests, and refuse production.
"""

from __future__ import annotations

import functools
import os
import subprocess

from clusters.drivers.local import files
from clusters.drivers.local.daemons import CONF, PATH, ROLE, STARTING, VERSION
from clusters.drivers.local.folder import ClusterFolder
from clusters.provisioning.steps import FlavorSpec

PLACES = ("tmp", "var/tmp", "dev/shm", "dev/mqueue", "run/lock")  # what everyone may write to, below /
NICE = 10
PROCESSES = 1024  # of one account, threads included, on all its nodes: the kernel counts by uid
OPEN_FILES = 16384  # of one process
MIB = 1 << 20

# a limit that cannot be set is lower already
LIMITS = """\
for limit in $1; do prlimit --pid $$ "--$limit" || :; done
shift
for wish in oom_score_adj:500 autogroup:{nice}; do
  {{ echo "${{wish#*:}}" >"/proc/self/${{wish%:*}}"; }} 2>/dev/null || :
done
"""
# a cluster's folder that lies where its own /tmp will be has to stay in reach
VIEW = """\
root=$1 own=$2
shift 2
for place in {places}; do
  [ -d "/$place" ] || continue
  case "$root/" in "/$place/"*)
    kept=$own/$place/${{root#"/$place/"}}
    mkdir -p "$kept"
    mount --bind "$root" "$kept" ;;
  esac
  mount --rbind "$own/$place" "/$place"
done
mount -t proc -o hidepid=invisible,nosuid,nodev,noexec proc /proc
"""
NAMESPACES = ("unshare", "--mount", "--ipc", "--")
# with CAP_SYS_RESOURCE slurmd would raise limits, and take back that jobs are the first to go without memory
PRIVILEGES = ("setpriv", "--bounding-set=-sys_resource", "--no-new-privs", "--", "env", "-u", STARTING)
# Each step leads a session; a kernel that shares time among sessions heeds nice only within one.
# slurmstepd writes its title over the first bytes of its environment: we recognise it by the others.
STEP = f"""\
#!/bin/sh
{{ echo {NICE} >/proc/self/autogroup; }} 2>/dev/null
exec env -i FIRST={"_" * 256} PATH="$PATH" LANG="$LANG" {CONF}="${CONF}" \\
  {ROLE}="${ROLE}" {VERSION}="${VERSION}" "${{0%/*}}/slurmstepd" "$@"
"""


@functools.cache
def is_allowed() -> bool:
    """Whether this machine lets root make such a view; a container often does not."""
    script = "mount -t proc -o hidepid=invisible proc /proc && mount --rbind / /mnt"
    run = subprocess.run(
        [*NAMESPACES, "/bin/sh", "-ec", script],
        check=False,
        capture_output=True,
        timeout=10,
        env={"PATH": PATH},
    )
    return run.returncode == 0


def around(home: ClusterFolder, node: str, flavor: FlavorSpec) -> tuple[str, ...]:
    """What stands before the command line of a node's slurmd."""
    limits = LIMITS.format(nice=NICE)
    shell = ("/bin/sh", "-euc")
    if not is_allowed():
        return ("nice", "-n", str(NICE), *shell, f'{limits}exec "$@"', "sh", _limits(flavor), *PRIVILEGES)
    script = f'{limits}{VIEW.format(places=" ".join(PLACES))}exec "$@"'
    places = str(home.root), str(home.machine(node))
    return ("nice", "-n", str(NICE), *NAMESPACES, *shell, script, "sh", _limits(flavor), *places, *PRIVILEGES)


def furnish(home: ClusterFolder, node: str) -> None:
    """Make the folders that a node's slurmd and jobs see as /tmp and the like."""
    own = home.machine(node)
    files.ensure_folder(own, mode=0o700)
    for place in PLACES:
        folder = own / place
        if folder.parent != own:
            files.ensure_folder(folder.parent, mode=0o755)
        files.ensure_folder(folder, mode=0o1777)


def _limits(flavor: FlavorSpec) -> str:
    memory = min(flavor.memory_mib * MIB, _half_of_memory())
    return f"core=0 nproc={PROCESSES} nofile={OPEN_FILES} data={memory}"


def _half_of_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
