"""Reads what people type and what scripts hold into exact values; pure functions, no models."""
