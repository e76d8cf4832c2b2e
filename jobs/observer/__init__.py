"""Looks at running Slurm clusters, whatever the number of viewers, and keeps what it saw."""
