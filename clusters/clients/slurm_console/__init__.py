"""What Slurm's REST API cannot do in any version, by a fixed list of commands of Slurm's own tools."""
