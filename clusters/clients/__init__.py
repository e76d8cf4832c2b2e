"""Thin typed access to outside APIs. No Django here, and no vendor dict or exception leaves."""
