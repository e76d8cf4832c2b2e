"""Job templates: scripts to begin with, built in, of the tenant or of one member, with parameters."""
