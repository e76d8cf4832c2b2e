"""Every change to jobs, one module per noun; verbs first."""
