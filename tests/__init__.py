"""Tests of Freehold. Nothing here reaches beyond this machine."""
