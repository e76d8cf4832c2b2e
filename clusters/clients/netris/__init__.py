"""Typed access to a Netris controller's REST API; its shapes end in wire.py."""
