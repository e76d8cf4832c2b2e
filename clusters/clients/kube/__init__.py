"""Speaks to Kubernetes API servers, the portal's own side and the tenants' alike; knows no Django."""
