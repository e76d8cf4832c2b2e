"""Tests of what joins the apps."""
