"""Scripts to begin with, each of which runs as it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext_lazy as _

from portal.lib.types import Words


@dataclass(frozen=True, slots=True)
class Example:
    """A built-in template of the new job form."""

    name: str  # in the address
    title: Words
    text: Words
    script: str
    fields: dict[str, str] = field(default_factory=dict)


EXAMPLES = (
    Example(
        "hello-gpu",
        _("Hello, GPU"),
        _("Asks for one GPU and says which one it got."),
        """\
#!/bin/bash
#SBATCH --job-name=hello-gpu
#SBATCH --gpus-per-node=1
#SBATCH --time=5

echo "Job $SLURM_JOB_ID runs on $(hostname) as $USER."
echo "CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES"
if command -v nvidia-smi > /dev/null; then nvidia-smi; fi
""",
    ),
    Example(
        "progress",
        _("Python with progress"),
        _("Counts for a minute and writes how far it is."),
        """\
#!/usr/bin/env python3
#SBATCH --job-name=progress
#SBATCH --time=10
import os
import time

STEPS = int(os.environ.get("STEPS", "30"))
for step in range(1, STEPS + 1):
    print(f"step {step} of {STEPS}", flush=True)
    time.sleep(2)
print("done")
""",
    ),
    Example(
        "sweep",
        _("Array sweep"),
        _("Four tasks, two at a time, each with a value of its own."),
        """\
#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --array=0-3%2
#SBATCH --time=10

RATES=(0.1 0.03 0.01 0.003)
RATE=${RATES[$SLURM_ARRAY_TASK_ID]}
echo "Task $SLURM_ARRAY_TASK_ID tries learning rate $RATE."
sleep 10
echo "Task $SLURM_ARRAY_TASK_ID is done."
""",
    ),
)


def example(name: str) -> Example | None:
    """The named one."""
    return next((known for known in EXAMPLES if known.name == name), None)
