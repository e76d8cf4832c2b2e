"""Use: Slurm jobs of a tenant: submit, follow, act."""
