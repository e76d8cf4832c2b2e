"""Tests of job templates."""
