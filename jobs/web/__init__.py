"""Pages of jobs: each parses, calls one service, renders."""
