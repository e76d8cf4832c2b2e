"""One file for each family of API versions that differs; nothing outside sees the difference."""
