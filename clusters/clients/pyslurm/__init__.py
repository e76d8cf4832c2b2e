"""A second, read-only look at a queue, for a portal host that shares a key with its cluster: optional."""
