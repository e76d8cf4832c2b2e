"""Reads a job's output file as the job's own user; a small root process on a Unix socket.

Tenants write these files, so nothing about them is trusted: a caller names a job and an offset only, the
reader looks up path and uid itself, and a child that has become that user opens the file. Knows no Django.
"""
