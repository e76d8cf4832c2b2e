"""Every change to orders and clusters, one module per noun; verbs first."""
