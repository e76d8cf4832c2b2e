"""The same scripts through the real sbatch and through Freehold make the same jobs."""
