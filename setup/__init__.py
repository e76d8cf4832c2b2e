"""What `make` runs before anything is installed: Debian packages, the system user, the virtual environment.

Standard library only, and nothing of the project.
"""
