"""What drivers that make Slurm share: looks through slurmrestd whether it works, users, what a site says."""
