"""Slurm by Slinky: what no API server can show by itself."""
