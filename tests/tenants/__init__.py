"""Tests of people, tenants, sign-in, audit and live topics."""
