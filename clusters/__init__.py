"""What: sites, machines, catalogue, orders, clusters, provisioning, observation."""
