"""Asks a local slurmctld, as root, which jobs are on some nodes: for messages only."""

from __future__ import annotations

import subprocess
from collections.abc import Collection

from clusters.drivers.local.daemons import PATH
from clusters.drivers.local.folder import ClusterFolder

TIMEOUT = 5  # seconds
MOST_JOBS = 10  # named in a message


def told(home: ClusterFolder, nodes: Collection[str]) -> str:
    """A sentence that names the jobs on these nodes, to follow another; empty when Slurm does not say."""
    jobs = jobs_on(home, nodes)
    shown = ", ".join(jobs[:MOST_JOBS]) + (" and others" if len(jobs) > MOST_JOBS else "")
    return f" It waits for job{'' if len(jobs) == 1 else 's'} {shown}." if jobs else ""


def jobs_on(home: ClusterFolder, nodes: Collection[str]) -> list[str]:
    """Ids of the jobs that run on these nodes; none when Slurm does not say."""
    try:
        done = subprocess.run(
            ["squeue", "-h", "-w", ",".join(sorted(nodes)), "-o", "%A"],
            check=True,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env={"PATH": PATH, "SLURM_CONF": str(home.conf)},
        )
    except subprocess.SubprocessError:
        return []
    return sorted({job for job in done.stdout.split() if job.isdigit()}, key=int)
