"""Every change to people and tenants, one module per noun; verbs first."""
