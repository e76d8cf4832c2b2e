"""A real Kubernetes API server for tests, and the vendors around it."""
