"""Plain Kubernetes as a stack."""
