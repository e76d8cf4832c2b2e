"""Each outside system's contract, proved over its real daemon, recorded answers or a fake with state."""
