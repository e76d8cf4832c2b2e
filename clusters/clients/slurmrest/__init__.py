"""A typed client of Slurm's REST daemon. Knows neither Django nor tenants."""
