"""Runs real daemons on this machine, one set per cluster, so that the portal works without a data centre."""
