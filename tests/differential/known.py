"""What may differ between a job by sbatch and one by Freehold, each with its reason; nothing else may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_OWN = "each job has its own"
_CLOCK = "the two jobs are handed in at different moments"

# fields of `scontrol show job`
FIELDS: Final[Mapping[str, str]] = {
    "JobId": _OWN,
    "ArrayJobId": _OWN,
    "HetJobId": _OWN,
    "HetJobIdSet": _OWN,
    "SLUID": _OWN,
    "Priority": "falls with each job that is handed in",
    "SubmitTime": _CLOCK,
    "AccrueTime": _CLOCK,
    "StartTime": _CLOCK,
    "EndTime": _CLOCK,
    "LastSchedEval": _CLOCK,
    "Scheduler": "names the scheduler that looked last",
    "Command": "the path of the script; over REST the script has none",
    "AllocNode:Sid": "the machine and session of the client",
    "SubmitLine": "the command line of the client; over REST there is none",
}
# the same, of jobs that an older version of the API handed in to a newer Slurm
FIELDS_OF_OLD_API: Final[Mapping[str, str]] = {
    "OOMKillStep": "v0.0.40 and v0.0.41 have no key for it, and slurmrestd then says no",
}
# the mark at the end of a comment is taken off before comments are compared

# moments that are compared, but for the seconds between the two submits
MOMENTS: Final = ("EligibleTime", "Deadline")
SECONDS: Final = 120

# variables of a job's environment
VARIABLES: Final[Mapping[str, str]] = {
    "SLURM_SUBMIT_HOST": "the machine of the client; the portal's is nobody's business",
    "SLURM_JOB_ID": _OWN,
    "SLURM_JOBID": _OWN,
    "SLURM_TASK_PID": _OWN,
    "SLURM_JOB_START_TIME": _CLOCK,
    "SLURM_JOB_END_TIME": _CLOCK,
    "SLURM_JOB_SLUID": _OWN,
    "SLURM_TOPOLOGY_ADDR": "the node that it got",
    "SLURMD_NODENAME": "the node that it got",
    "SLURM_NODELIST": "the node that it got",
    "SLURM_JOB_NODELIST": "the node that it got",
    "SLURM_JOB_GPUS": "the GPUs that it got",
    "SLURM_GPUS_ON_NODE": "the GPUs that it got",
    "CUDA_VISIBLE_DEVICES": "the GPUs that it got",
    "GPU_DEVICE_ORDINAL": "the GPUs that it got",
    "ROCR_VISIBLE_DEVICES": "the GPUs that it got",
    "ZE_AFFINITY_MASK": "the GPUs that it got",
    "HOSTNAME": "the node that it got",
    "SHLVL": "counts the shells around the client",
    "_": "the path of the script",
}
LIMITS: Final = "SLURM_RLIMIT_"  # limits of the client's machine; over REST the node's own hold

# scripts that sbatch takes and Freehold refuses on purpose: a part of the refusal, and why
STRICTER: Final[Mapping[str, str]] = {
    "cannot carry it": "the cluster's API would drop it without a word; the table says which version can",
    "No version of Slurm's API carries it": "so says the table",
    "sbatch ignores the priority 0": "it looks like a hold and is none",
    "After % stands how many tasks": "sbatch reads %0 and %x as no limit",
    "is no event": "sbatch drops a wrong event beside a right one",
    "Write a whole number.": "sbatch reads --nice=abc as 0",
    "there is no value": "an empty value is a slip of the pen",
    "Write a number of nodes from 1 up": "sbatch reads 0 nodes as one",
    "hetjob stands on a line of its own": "sbatch drops the rest of that line",
    "Write the path without ..": "the output reader opens nothing outside of the job's folder",
}


def is_stricter(refusal: str) -> bool:
    """Whether a refusal of ours is one of those."""
    return any(part in refusal for part in STRICTER)
