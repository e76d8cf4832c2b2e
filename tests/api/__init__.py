"""The REST API as a whole."""
