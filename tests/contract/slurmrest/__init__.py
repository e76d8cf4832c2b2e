"""The Slurm gateway: over recorded answers of ten versions, over faults, and over a real slurmrestd."""
