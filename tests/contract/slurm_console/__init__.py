"""The console against real Slurm, and its lines against everything that people type."""
