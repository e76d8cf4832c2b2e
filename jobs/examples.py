"""Scripts to begin with, each of which runs as it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext_lazy as _

from jobs.job_templates.parameters import Parameter, fill
from portal.lib.types import Words


@dataclass(frozen=True, slots=True)
class Example:
    """A built-in template of the new job form."""

    name: str  # in the address
    title: Words
    text: Words
    script: str
    fields: dict[str, str] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()

    @property
    def as_it_is(self) -> str:
        """The script with the defaults in it."""
        return fill(self.script, self.parameters, {})


EXAMPLES = (
    Example(
        "hello-gpu",
        _("Hello, GPU"),
        _("Asks for one GPU and says which one it got."),
        """\
#!/bin/bash
#SBATCH --job-name=hello-gpu
#SBATCH --gpus-per-node={{gpus}}
#SBATCH --time=5

echo "Job $SLURM_JOB_ID runs on $(hostname) as $USER."
echo "CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES"
if command -v nvidia-smi > /dev/null; then nvidia-smi; fi
""",
        parameters=(Parameter("gpus", _("GPUs on the node"), "1", "number"),),
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
sleep 5
echo "Task $SLURM_ARRAY_TASK_ID is done."
""",
    ),
    Example(
        "torchrun",
        _("PyTorch on several nodes"),
        _("Starts torchrun once on each node; they find each other through the first one."),
        """\
#!/bin/bash
#SBATCH --job-name=torchrun
#SBATCH --nodes={{nodes}}
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node={{gpus}}
#SBATCH --time={{minutes}}

export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
echo "$SLURM_JOB_NUM_NODES nodes meet at $MASTER_ADDR:$MASTER_PORT."

if ! python3 -c "import torch" 2> /dev/null; then
    echo "PyTorch is not installed on these nodes. Activate an environment that has it above this line."
    srun hostname
    exit 0
fi
srun torchrun --nnodes="$SLURM_JOB_NUM_NODES" --nproc-per-node={{gpus}} \\
    --rdzv-id="$SLURM_JOB_ID" --rdzv-backend=c10d --rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT" {{script}}
""",
        parameters=(
            Parameter("nodes", _("Nodes"), "1", "number"),
            Parameter("gpus", _("GPUs on each node"), "1", "number"),
            Parameter("minutes", _("Time limit (minutes)"), "60", "number"),
            Parameter("script", _("Your training script"), "train.py"),
        ),
    ),
    Example(
        "mpi",
        _("MPI"),
        _("Starts one process for each task; srun hands them their ranks."),
        """\
#!/bin/bash
#SBATCH --job-name=mpi
#SBATCH --ntasks={{tasks}}
#SBATCH --time={{minutes}}

if [ ! -x {{program}} ]; then
    echo "There is no program {{program}} yet. Compile yours with mpicc; this shows where its ranks run."
    srun sh -c 'echo "rank $SLURM_PROCID of $SLURM_NTASKS on $(hostname)"'
    exit 0
fi
srun {{program}}
""",
        parameters=(
            Parameter("tasks", _("Processes"), "2", "number"),
            Parameter("program", _("Program"), "./a.out"),
            Parameter("minutes", _("Time limit (minutes)"), "30", "number"),
        ),
    ),
    Example(
        "jupyter",
        _("Jupyter through a job"),
        _("Runs JupyterLab on a node and says how to reach it."),
        """\
#!/bin/bash
#SBATCH --job-name=jupyter
#SBATCH --gpus-per-node={{gpus}}
#SBATCH --time={{minutes}}

PORT=$((20000 + SLURM_JOB_ID % 10000))
if ! command -v jupyter > /dev/null; then
    echo "Jupyter is not installed here. Once, in your home: python3 -m venv jupyter, then"
    echo "jupyter/bin/pip install jupyterlab, and add: export PATH=\\$HOME/jupyter/bin:\\$PATH"
    exit 0
fi
echo "On your own machine: ssh -L 8888:$(hostname):$PORT YOUR-LOGIN-NODE"
echo "Then open http://localhost:8888 with the token below. The job ends it; cancel when you are done."
exec jupyter lab --no-browser --ip=0.0.0.0 --port="$PORT"
""",
        parameters=(
            Parameter("gpus", _("GPUs on the node"), "1", "number"),
            Parameter("minutes", _("Time limit (minutes)"), "120", "number"),
        ),
    ),
)


def example(name: str) -> Example | None:
    """The named one."""
    return next((known for known in EXAMPLES if known.name == name), None)
