"""Tests that read the code and walk the addresses."""
