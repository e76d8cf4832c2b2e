"""Template tags of live regions."""
