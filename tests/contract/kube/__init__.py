"""What every Kubernetes driver promises, on a real API server with the vendors' kinds and our RBAC."""
