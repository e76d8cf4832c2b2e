"""Tests of what people are told of their jobs."""
