"""Nodes that join without being asked."""
