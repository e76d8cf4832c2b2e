"""From a neutral release of a chart to what one GitOps controller understands; one module per controller."""
