"""Tells people what became of their jobs, in the browser and by mail: as each of them asked for."""
