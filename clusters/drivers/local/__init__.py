"""Runs real daemons on this machine, one set per cluster, so that the portal works without a data centre.

For demos and tests only; it refuses production: jobs of all tenants share this machine's kernel and network.
"""
