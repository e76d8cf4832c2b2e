"""How much a member may use at once in a cluster: set by the tenant's admins, held to by Slurm itself."""
