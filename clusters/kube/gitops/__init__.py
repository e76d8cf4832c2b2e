"""Installs charts in tenants' clusters through a site's Argo CD or Flux; shared by the drivers of stacks."""
