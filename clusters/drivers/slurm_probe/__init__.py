"""Looks whether a Slurm cluster works, through slurmrestd only; shared by every driver that makes one."""
