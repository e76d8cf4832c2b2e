"""The client of API servers and what drivers share, without a server."""
