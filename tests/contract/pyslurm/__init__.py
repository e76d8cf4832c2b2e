"""The optional gateway over pyslurm, with a stand-in for the library: CI does not have the real one."""
