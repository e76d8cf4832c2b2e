"""What all drivers that speak to Kubernetes share: marks, drift, readiness, the step, sinks, renderers."""
