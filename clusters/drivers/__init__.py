"""One package per vendor: maps our specs to it and back. Drivers know neither Django nor each other."""
