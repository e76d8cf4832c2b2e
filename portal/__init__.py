"""The project shell: settings, URLs, processes. Domain code lives in tenants, clusters and jobs."""
