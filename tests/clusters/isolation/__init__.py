"""The step that shows that a cluster stands alone."""
